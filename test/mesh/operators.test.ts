import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, MAIN } from '../support/daemon-process.js';
import { until } from '../support/wait.js';
import { ProcessMesh } from './processes/process-mesh.js';
import type { ProcessNode } from './processes/process-node.js';

/** What the people who run a mesh see and do: names of nodes, edits that lost, and the removal of a node. */

const PATIENT = { withinMs: 60_000 } as const;
type Row = Record<string, unknown>;

describe('the operators of a mesh', { timeout: 240_000 }, () => {
  let mesh: ProcessMesh;
  let nodes: readonly [ProcessNode, ProcessNode, ProcessNode];
  before(async () => {
    mesh = await ProcessMesh.form(3);
    nodes = mesh.nodes as unknown as typeof nodes;
    await mesh.drain(60_000);
  });
  after(() => mesh.close());

  const json = async (node: ProcessNode, ...words: string[]) =>
    JSON.parse(await node.must([...words, '--json'])) as Row;
  const refused = async (node: ProcessNode, ...words: string[]) => {
    const { code, err } = await node.cli([...words, '--json']);
    assert.notEqual(code, 0);
    return (JSON.parse(err) as Row)['code'];
  };
  const namesAt = async (node: ProcessNode) => {
    const { name, peers } = await json(node, 'mesh', 'status');
    return [name, ...(peers as Row[]).map((peer) => peer['name'])].map(String).sort();
  };
  const statusText = (node: ProcessNode) => node.must(['mesh', 'status']);

  it('name nodes by their host, with numbers, and rename them on the authority', async () => {
    const [one, two, three] = nodes;
    const given = await namesAt(one);
    const [host] = given;
    assert.deepEqual(given, [host, `${host}-2`, `${host}-3`]);
    assert.equal(await refused(two, 'mesh', 'rename', `${host}-2`, 'b'), 'FORBIDDEN');
    assert.equal(await refused(one, 'mesh', 'rename', 'nobody', 'b'), 'NOT_FOUND');
    assert.equal(await refused(one, 'mesh', 'rename', 'peer', 'b'), 'AMBIGUOUS_ID_PREFIX');
    for (const bad of ['peer-00', 'b-', 'b b', 'b'.repeat(64)])
      assert.equal(await refused(one, 'mesh', 'rename', two.peerId, bad), 'VALIDATION_FAILED');
    await one.must(['mesh', 'rename', `${host}-2`, 'B']);
    assert.equal(await refused(one, 'mesh', 'rename', three.peerId, 'b'), 'CONFLICT');
    await one.must(['mesh', 'rename', three.peerId.slice('peer-'.length, 'peer-'.length + 12), 'c']);
    for (const node of nodes)
      await until('the names are known', async () => String(await namesAt(node)) === `b,c,${host}`, PATIENT);
    assert.match(await statusText(one), new RegExp(`b \\(${two.peerId.slice(0, 9)}\\)`));
  });

  it('follow the state live', async () => {
    const { home, environment } = nodes[0];
    const child = spawn(
      process.execPath,
      [MAIN, 'mesh', 'status', '--watch', '--interval', '0.2', '--json'],
      {
        env: cleanEnvironment(home, environment),
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const looks: Row[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      looks.push(JSON.parse(line) as Row);
      if (looks.length === 3) child.kill('SIGINT');
    }
    assert.ok(looks.length >= 3);
    assert.ok(looks.every(({ state }) => state === 'member'));
    assert.equal(await refused(nodes[0], 'mesh', 'status', '--interval', 'x'), 'VALIDATION_FAILED');
  });

  it('see both texts of an edit that lost, and take it back on any node', async () => {
    const [one, two, three] = nodes;
    const { id } = await json(one, 'store', '--title', 'window', '--content', 'Sundays');
    const memory = String(id);
    await mesh.drain(60_000);
    mesh.isolate(two, { kind: 'drop' });
    await two.cli(['update', memory, '--content', 'Tuesdays', '--title', 'window of two']);
    await one.cli(['update', memory, '--content', 'Mondays']);
    await mesh.drain(60_000);
    const textAt = async (node: ProcessNode) =>
      ((await json(node, 'get', memory))['memory'] as Row)['content'];
    const present = String(await textAt(three));
    const lost = present === 'Mondays' ? 'Tuesdays' : 'Mondays';
    for (const node of nodes) {
      const { count, conflicts } = await json(node, 'mesh', 'conflicts');
      const [conflict] = conflicts as Row[];
      assert.equal(count, 1);
      assert.deepEqual(
        [(conflict!['lost'] as Row)['content'], (conflict!['present'] as Row)['content']],
        [lost, present],
      );
      assert.equal(conflict!['taken'], false);
      const shown = await node.must(['mesh', 'conflicts']);
      for (const part of [lost, present, 'mesh conflicts take', lost === 'Tuesdays' ? 'b (peer-' : 'written'])
        assert.ok(shown.includes(part), `${part}: ${shown}`);
    }
    assert.equal(await refused(three, 'mesh', 'conflicts', 'take'), 'VALIDATION_FAILED');
    assert.equal(await refused(three, 'mesh', 'conflicts', 'take', 'zzz'), 'NOT_FOUND');
    assert.equal(await refused(three, 'mesh', 'conflicts', 'drop', 'zzz'), 'VALIDATION_FAILED');
    const dry = await json(three, 'mesh', 'conflicts', 'take', memory.slice(0, 8), '--dry-run');
    assert.equal(dry['undone'], false);
    assert.equal(await textAt(three), present);
    const taken = await json(three, 'mesh', 'conflicts', 'take', memory.slice(0, 8));
    assert.equal((taken['memory'] as Row)['content'], lost);
    await mesh.drain(60_000);
    for (const node of nodes) {
      assert.equal(await textAt(node), lost);
      assert.equal((await json(node, 'mesh', 'conflicts'))['count'], 0, 'it is settled on every node');
      const { conflicts } = await json(node, 'mesh', 'conflicts', '--all');
      assert.deepEqual(
        (conflicts as Row[]).map(({ taken: done }) => done),
        [true],
      );
    }
    // The text that stood before can be had again the same way.
    await json(one, 'undo-edit', memory);
    assert.equal(await textAt(one), present);
  });

  it('let a removed node know, also one that was down, and its writes do not count as replicated', async () => {
    const [one, two, three] = nodes;
    await three.end('SIGTERM');
    for (const node of ['b', 'c']) await one.must(['mesh', 'remove', node]);
    await three.start();
    for (const node of [two, three]) {
      await until(
        'it knows',
        async () => (await json(node, 'mesh', 'status'))['state'] !== 'member',
        PATIENT,
      );
      assert.match(await statusText(node), /removed from the mesh/);
      const { quorum_met: met, durability } = await json(node, 'store', '--title', 'late', '--content', 'x');
      assert.deepEqual([met, durability], [false, 'local']);
      const { out } = await node.cli(['doctor', '--json']);
      assert.match(out, /MESH_REMOVED/);
    }
    assert.equal((await json(one, 'mesh', 'status'))['state'], 'member');
    // Nobody waits for those that were removed, whether they run or not.
    const shown = await statusText(one);
    assert.match(shown, /departed[\s\S]*departed/);
    assert.doesNotMatch(shown, /^problems$/m);
  });
});
