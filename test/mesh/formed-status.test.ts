import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../node/mesh/mesh-answers.js';
import { systemRandom } from '../../node/seams.js';
import { VERSION } from '../../node/version.js';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { askRaw } from '../support/mesh.js';
import { event, untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

/** What people and programs see of a mesh that was formed by three commands. */

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
  readonly child: ChildProcess;
}

/** For what takes a command or a round of the mesh. */
const PATIENT = { withinMs: 60_000 } as const;

const nodes: Node[] = [];
const environment = (home: string) => cleanEnvironment(home, { SVC_LOG_LEVEL: 'error' });

const command = (home: string, ...words: string[]) => run(home, words, { env: { SVC_LOG_LEVEL: 'error' } });

/** One command makes a node and runs it. */
async function add(words: readonly string[], input = ''): Promise<Node> {
  const home = temporaryFolder('formed');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  const port = await freePort();
  const url = `https://127.0.0.1:${await freePort()}`;
  const flags = ['--url', url, '--serve', '--port', String(port), '--quorum-writes', '2'];
  const child = spawn(process.execPath, [MAIN, 'mesh', ...words, ...flags], {
    env: environment(home),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin!.end(input);
  const node = { home, port, peerId, child };
  nodes.push(node);
  await untilAnswer(
    'the node listens for others',
    () => statusOf(node).catch(() => null),
    (status) => status?.listening === true,
    PATIENT,
  );
  return node;
}

const ask = async ({ port }: Node, path: string, body?: object) =>
  fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const statusOf = async (node: Node) => (await (await ask(node, '/mesh/status')).json()) as MeshStatusAnswer;

/** A peer in the view for people: its name, and the beginning of its id. */
const shownAs = (peerId: string) => `[a-z0-9-]+ \\(${peerId.slice(0, 'peer-0000'.length)}\\)`;

describe('a mesh of three', () => {
  let [one, two, three]: Node[] = [];
  before(async () => {
    one = await add(['init']);
    const token = async () => (await command(one!.home, 'mesh', 'invite')).out;
    two = await add(['join', '-'], await token());
    three = await add(['join', '-'], await token());
  });
  after(async () => {
    for (const { child } of nodes) {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await event('the node ends', child, 'exit');
    }
  });

  it('has one line for hints between each two of them', async () => {
    for (const node of nodes) {
      const others = nodes.filter((each) => each !== node).map(({ peerId }) => peerId);
      await untilAnswer(
        'there is a line to each other node',
        () => statusOf(node),
        ({ hint_lines: lines }) => JSON.stringify([...lines].sort()) === JSON.stringify(others.sort()),
        PATIENT,
      );
    }
  });

  it('shows a table of peers, and who has an operation', async () => {
    const stored = await ask(two!, '/memories', { title: 'shown', content: 'c' });
    assert.equal(stored.status, 201);
    const { id, quorum_acks: acks } = (await stored.json()) as { id: string; quorum_acks: number };
    assert.ok(acks >= 2);
    await untilAnswer(
      'all three have the operation',
      async () => (await command(one!.home, 'mesh', 'op', id, '--json')).out,
      (out) => {
        // Two nodes are a quorum, so this one may not have it yet.
        if (out === '') return false;
        const op = JSON.parse(out) as { acks: number; needed: number; origin: string };
        return op.acks === 3 && op.needed === 2 && op.origin.startsWith(two!.peerId);
      },
      PATIENT,
    );
    const lines = [two!, three!].map(
      ({ peerId }) => new RegExp(`^ +${shownAs(peerId)} +healthy +0 +0 +0 +-?\\d+ +yes +https://`, 'm'),
    );
    const { code, out } = await untilAnswer(
      'both peers are shown as healthy and equal',
      () => command(one!.home, 'mesh', 'status'),
      ({ out: shown }) => lines.every((line) => line.test(shown)),
      PATIENT,
    );
    assert.equal(code, 0);
    assert.match(out, /writes +wait for 2 of 3 nodes/);
    const verified = await command(one!.home, 'mesh', 'verify');
    assert.deepEqual([verified.code, verified.out.split('\n')[0]], [0, 'All 3 nodes are equal.']);
  });

  it('is in the capabilities, and answers say which release they come from', async () => {
    const { federation, dlq_depth } = (await (await ask(one!, '/capabilities')).json()) as {
      federation: Record<string, unknown>;
      dlq_depth: number;
    };
    assert.deepEqual([federation['enabled'], federation['peers'], federation['healthy']], [true, 2, 2]);
    assert.deepEqual([federation['quorum'], dlq_depth], [{ configured: 2, needed: 2, members: 3 }, 0]);
    const { replication } = await statusOf(one!);
    assert.deepEqual(
      replication?.peers.map(({ version }) => version),
      [VERSION, VERSION],
    );
  });

  it('tells another member nothing of that, by whichever certificate', async () => {
    const peers = Number(new URL((await statusOf(one!)).url!).port);
    const folder = join(two!.home, 'mesh');
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    const other = { cert: read('node.crt'), key: read('node.key') };
    for (const path of ['/mesh/status', '/mesh/status?compare=true', '/mesh/operations/x%2Fy%2F1']) {
      const { text } = await askRaw(peers, other, `/api/v1${path}`);
      assert.match(text, /^HTTP\/1.1 403 .*ADMIN_REQUIRED/s);
    }
    // The member itself is let in: this route only asks for its challenge.
    const { text } = await askRaw(peers, other, '/api/v1/mesh/whoami');
    assert.match(text, /^HTTP\/1.1 400 /);
    assert.equal((await ask(one!, '/mesh/operations/x%2Fy%2F1')).status, 404);
  });

  it('notices a node that was killed, and says what is wrong', async () => {
    three!.child.kill('SIGKILL');
    await event('the node is gone', three!.child, 'exit');
    await untilAnswer(
      'the killed node is noticed',
      () => statusOf(one!),
      ({ replication }) =>
        replication?.peers.find(({ peerId }) => peerId === three!.peerId)?.state !== 'healthy',
      PATIENT,
    );
    const verified = await command(one!.home, 'mesh', 'verify', '--json');
    assert.equal(verified.code, 1);
    const shown = await command(one!.home, 'mesh', 'status');
    assert.match(shown.out, new RegExp(`${shownAs(three!.peerId)} +(suspect|cut)`));
    assert.match(shown.out, new RegExp(`^problems\\n +${shownAs(three!.peerId)}: unreachable`, 'm'));
    const doctor = await command(one!.home, 'doctor', '--json', '--port', String(one!.port));
    const { sections } = JSON.parse(doctor.out) as {
      sections: { name: string; findings: { code: string }[] }[];
    };
    const mesh = sections.find(({ name }) => name === 'Mesh')!;
    assert.deepEqual(
      mesh.findings.map(({ code }) => code),
      ['PEER_UNREACHABLE'],
    );
    // The other two go on.
    assert.equal((await ask(one!, '/memories', { title: 'two of three', content: 'c' })).status, 201);
  });
});

it('a node without a mesh says so, and verifies nothing', async () => {
  const home = temporaryFolder('alone');
  const verified = await command(home, 'mesh', 'verify');
  assert.equal(verified.code, 1);
  assert.match(verified.err, /belongs to no mesh: run "mnemesh mesh init"/);
  const shown = await command(home, 'mesh', 'status');
  assert.deepEqual([shown.code, /state +none/.test(shown.out)], [0, true]);
  const unknown = await command(home, 'mesh', 'op', 'peer-0011223344556677/x/1');
  assert.deepEqual([unknown.code, /nor an operation about/.test(unknown.err)], [1, true]);
});
