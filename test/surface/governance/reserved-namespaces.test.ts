import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { McpProcess } from '../mcp/mcp-process.js';
import { GovernedDaemon, type Row } from './governed-daemon.js';

const ROOT = 'ai:root';
const ALICE = 'ai:alice';
const BOB = 'ai:bob';
/** Names of the service that it uses, and such that it does not. */
const RESERVED = ['_foo', '_', '_foo/bar', '_global', '_pending', '_mesh', '_agents', '_messages/ai:bob'];

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start('reserved', {
    config: `[admin]\nagent_ids = ["${ROOT}"]\n`,
    env: { SVC_ADMIN_HEADER_TRUST: '1' },
  });
  await node.register(ALICE, BOB);
});
after(() => node.end());

let number = 0;
const one = (more: Row = {}): Row => ({ title: `note ${++number}`, content: `text ${number}`, ...more });
const own = (agent = ALICE, more: Row = {}) => node.stored(agent, 'team', `own ${++number}`, more);

async function refused(agent: string, method: string, path: string, body: Row) {
  const { status, body: said } = await node.call(agent, method, path, body);
  const shown = `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(said)}`;
  assert.deepEqual([status, said['code'], said['fields']], [400, 'VALIDATION_FAILED', ['namespace']], shown);
}

const counted = async () => {
  const { body } = await node.call(ROOT, 'GET', '/namespaces');
  return (body['namespaces'] as Row[]).filter(({ namespace }) => String(namespace).startsWith('_'));
};

describe('a namespace whose name begins with "_"', { timeout: 120_000 }, () => {
  it('takes no store, move, clone, consolidation or entity over HTTP, of an admin neither', async () => {
    const before = await counted();
    for (const agent of [ALICE, ROOT]) {
      const [id, other] = [await own(agent), await own(agent)];
      for (const namespace of RESERVED) {
        await refused(agent, 'POST', '/memories', one({ namespace }));
        await refused(agent, 'POST', '/memories', one({ namespace, on_conflict: 'merge' }));
        await refused(agent, 'PUT', `/memories/${id}`, { namespace });
        await refused(agent, 'POST', '/entities', { canonical_name: 'Ada', namespace });
        const joined = { ids: [id, other], title: `joined ${++number}`, summary: 's', namespace };
        await refused(agent, 'POST', '/consolidate', joined);
      }
      const { body: bulk } = await node.call(agent, 'POST', '/memories/bulk', {
        memories: [one({ namespace: '_foo' }), one({ namespace: 'team' })],
      });
      assert.deepEqual([bulk['created'], (bulk['errors'] as unknown[]).length], [1, 1]);
      const [row] = bulk['results'] as Row[];
      assert.equal(row!['code'], 'VALIDATION_FAILED');
    }
    assert.deepEqual(await counted(), before);
  });

  it('takes none over MCP and on the command line', async () => {
    const id = await own();
    const mcp = new McpProcess({
      home: node.daemon.home,
      args: ['--profile', 'full'],
      env: { SVC_AGENT_ID: ALICE },
    });
    await mcp.request('init', 'initialize', {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'reserved', version: '1' },
    });
    for (const [name, input] of [
      ['memory_store', one({ namespace: '_foo' })],
      ['memory_update', { id, namespace: '_foo' }],
    ] as const) {
      const { error } = await mcp.call(name, name, input);
      assert.equal(error?.code, -32602, name);
      assert.deepEqual(
        [error?.data?.['code'], error?.data?.['fields']],
        ['VALIDATION_FAILED', ['namespace']],
      );
    }
    await mcp.end();
    for (const words of [
      ['store', '--title', 'a', '--content', 'b', '-n', '_foo'],
      ['update', id, '--namespace', '_foo'],
    ]) {
      const { code, err } = await node.cli([...words, '--agent-id', ALICE]);
      assert.equal(code, 2, err);
      assert.match(err, /^error: --namespace "_foo" begins with "_"/);
    }
    const env = { SVC_CONFIG: join(node.daemon.home, 'reserved.toml') };
    writeFileSync(env.SVC_CONFIG, '[storage]\ndefault_namespace = "_foo"\n', { mode: 0o600 });
    const { code, err } = await node.cli(['store', '--title', 'a', '--content', 'b'], env);
    assert.deepEqual([code, /default_namespace.*begin with "_"/s.test(err)], [78, true], err);
  });

  it('is no way around a policy of everybody', async () => {
    await node.govern('*', { write: 'approve', approver: 'human' });
    const waits = await node.store(ALICE, 'elsewhere', 'waits');
    assert.equal(waits.status, 202);
    await refused(ALICE, 'POST', '/memories', one({ namespace: '_elsewhere' }));
    await node.cli(['namespace', 'clear-standard', '--namespace', '*']);
  });

  it('goes on to take what the service itself writes there', async () => {
    const sent = await node.call(ALICE, 'POST', '/notify', {
      ...{ target_agent_id: BOB, title: 'hand-over', payload: 'all is well' },
    });
    assert.deepEqual([sent.status, sent.body['namespace']], [201, `_messages/${BOB}`]);
    const { body: inbox } = await node.call(BOB, 'GET', '/inbox');
    assert.equal(inbox['count'], 1);
    const shared = await node.call(ALICE, 'POST', '/share', {
      source_memory_id: await own(ALICE),
      target_agent_id: BOB,
    });
    assert.equal(shared.body['target_namespace'], `_shared/${ALICE}->${BOB}`);
    await node.register('ai:late');
    const id = sent.body['id'];
    assert.equal((await node.call(BOB, 'DELETE', `/memories/${id}`)).status, 200);
  });

  it('keeps what an earlier release put there usable, and comes in from a trusted file only', async () => {
    const memories = [one({ id: 'old-1', namespace: '_old/deep', metadata: { agent_id: ALICE } })];
    const untrusted = await node.call(ROOT, 'POST', '/import', { memories });
    assert.deepEqual([untrusted.body['imported'], untrusted.body['failed']], [0, 1]);
    const trusted = await node.call(ROOT, 'POST', '/import', { memories, trust_source: true });
    assert.deepEqual(
      [trusted.body['imported'], trusted.body['failed']],
      [1, 0],
      JSON.stringify(trusted.body),
    );
    const path = '/memories/old-1';
    const done = async (method: string, at: string, body?: Row) => {
      const { status, body: said } = await node.call(ALICE, method, at, body);
      assert.equal(status, 200, `${method} ${at}: ${JSON.stringify(said)}`);
    };
    const clone = await node.cli(['promote', 'old-1', '--to-namespace', '_old', '--agent-id', ALICE]);
    assert.equal(clone.code, 2, clone.err);
    assert.match(clone.err, /^error: --to-namespace "_old" begins with "_"/);
    await done('PUT', path, { content: 'edited' });
    await done('DELETE', path);
    await done('POST', '/archive/old-1/restore');
    await done('PUT', path, { namespace: 'team' });
    await refused(ALICE, 'PUT', path, { namespace: '_old' });
  });
});
