import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { GovernedDaemon, type Reply, type Row } from './governed-daemon.js';

const CODER = 'ai:coder';
const LEAD = 'ai:lead';

const RULES = `[[permissions.rules]]
namespace_pattern = "vault"
op = "memory_delete"
decision = "deny"

[[permissions.rules]]
namespace_pattern = "sealed"
op = "memory_store"
decision = "deny"
`;

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start('what-happens', { config: RULES });
  await node.register(CODER, LEAD);
  const approver = { agent: LEAD };
  await node.govern('risen', { write: 'any', promote: 'approve', approver });
  await node.govern('kept', { write: 'any', delete: 'approve', approver });
  const rule = (id: string, matcher: Row) =>
    node.cli([
      ...['rules', 'add', '--id', id, '--kind', 'custom', '--severity', 'refuse', '--reason', 'closed'],
      ...['--matcher', JSON.stringify({ kind: 'memory_write', ...matcher })],
    ]);
  for (const added of [
    await rule('no-payroll', { namespace_glob: 'ruled/**', title_contains: 'PAYROLL' }),
    await rule('no-long', { namespace_glob: 'brief/**', tier: 'long' }),
  ])
    assert.equal(added.code, 0, added.err);
});
after(() => node.end());

const put = (id: string, patch: Row): Promise<Reply> => node.call(CODER, 'PUT', `/memories/${id}`, patch);
const waits = ({ status, body }: Reply, what: string) =>
  assert.deepEqual([status, body['status']], [202, 'pending'], `${what}: ${JSON.stringify(body)}`);
const refused = ({ status, body }: Reply, what = '') =>
  assert.deepEqual([status, body['code']], [403, 'GOVERNANCE_REFUSED'], `${what}: ${JSON.stringify(body)}`);

describe('a memory that rises', { timeout: 60_000 }, () => {
  it('passes the gate of promotions, whatever raises it', async () => {
    const id = await node.stored(CODER, 'risen', 'one');
    waits(await node.call(CODER, 'POST', `/memories/${id}/promote`), 'promote');
    waits(await put(id, { tier: 'long' }), 'update');
    waits(await node.store(CODER, 'risen', 'one', { on_conflict: 'merge', tier: 'long' }), 'merge');
    const bulk = await node.call(CODER, 'POST', '/memories/bulk', [
      { namespace: 'risen', title: 'one', content: 'c', on_conflict: 'merge', tier: 'long' },
    ]);
    const [row] = bulk.body['results'] as Row[];
    assert.equal(row?.['status'], 'pending', JSON.stringify(bulk.body));
    const by = await node.told(CODER, ['update', id, '--tier', 'long']);
    assert.equal(by['status'], 'pending', JSON.stringify(by));
    const told = await node.tools(CODER, (tool) => tool('memory_update', { id, tier: 'long' }));
    assert.equal(told['status'], 'pending', JSON.stringify(told));
    assert.equal((await node.memory(CODER, id))?.['tier'], 'mid');
    assert.equal((await put(id, { title: 'two', tier: 'mid' })).status, 200);
  });
});

describe('a memory that is taken away', { timeout: 60_000 }, () => {
  it('passes the gate of deletions, whatever takes it away', async () => {
    const id = await node.stored(CODER, 'kept', 'one');
    const soon = new Date(Date.now() + 60_000).toISOString();
    waits(await node.call(CODER, 'DELETE', `/memories/${id}`), 'delete');
    waits(await node.call(CODER, 'POST', '/archive', [id]), 'archive');
    waits(await put(id, { namespace: 'elsewhere' }), 'move');
    waits(await put(id, { expires_at: soon }), 'expiry');
    waits(await put(id, { ttl_secs: 60 }), 'time to live');
    waits(await put(id, { scope: 'private' }), 'scope');
    waits(await put(id, { metadata: { scope: 'team' } }), 'scope in the metadata');
    assert.equal((await put(id, { title: 'two', expires_at: null, scope: 'collective' })).status, 200);
  });

  it('is not given an expiry in the past, on any surface', async () => {
    const id = await node.stored(CODER, 'free', 'one');
    const past = { expires_at: '2000-01-01T00:00:00Z' };
    const { status, body } = await put(id, past);
    assert.deepEqual([status, body['code']], [400, 'VALIDATION_FAILED'], JSON.stringify(body));
    const command = await node.cli(['update', id, '--expires-at', past.expires_at, '--agent-id', CODER]);
    assert.notEqual(command.code, 0);
    assert.match(command.err, /lies in the past/);
    assert.ok((await node.memory(CODER, id)) !== null);
  });

  it('passes the gate when an undo takes it away', async () => {
    const id = await node.stored(CODER, 'before', 'undone');
    assert.equal((await put(id, { namespace: 'kept' })).status, 200);
    const asked = await node.told(CODER, ['undo-edit', id]);
    assert.equal(asked['status'], 'pending', JSON.stringify(asked));
    assert.equal((await node.memory(CODER, id))?.['namespace'], 'kept');
  });
});

describe('a permission rule', { timeout: 60_000 }, () => {
  it('about deletions holds for a move and for an expiry, and one about stores for what comes in', async () => {
    const id = await node.stored(CODER, 'vault', 'one');
    refused(await node.call(CODER, 'DELETE', `/memories/${id}`), 'delete');
    refused(await put(id, { namespace: 'w' }), 'move');
    refused(await put(id, { ttl_secs: 60 }), 'expiry');
    const other = await node.stored(CODER, 'w', 'two');
    refused(await put(other, { namespace: 'sealed' }), 'move into it');
    refused(
      await node.call(CODER, 'POST', '/consolidate', {
        ...{ ids: [other, await node.stored(CODER, 'w', 'three')], title: 'both', namespace: 'sealed' },
      }),
      'consolidate into it',
    );
    const below = await node.stored(CODER, 'sealed2', 'free');
    assert.equal((await put(below, { title: 'still free' })).status, 200);
  });
});

describe('a rule about writes', { timeout: 60_000 }, () => {
  it('judges the title that an update and an undo write, and lets a forbidden one be changed', async () => {
    const id = await node.stored(CODER, 'ruled/a', 'plain');
    refused(await node.store(CODER, 'ruled/a', 'PAYROLL'), 'store');
    refused(await put(id, { title: 'PAYROLL' }), 'update');
    const moved = await node.stored(CODER, 'free', 'PAYROLL of the year');
    refused(await put(moved, { namespace: 'ruled/a' }), 'move');
    assert.equal((await put(moved, { namespace: 'ruled/a', title: 'of the year' })).status, 200);
    const undone = await node.cli(['undo-edit', moved, '--agent-id', CODER]);
    assert.equal(undone.code, 0, undone.err);
    const redone = await node.cli(['undo-edit', moved, '--agent-id', CODER]);
    assert.equal(redone.code, 0, redone.err);
    assert.equal((await put(moved, { title: 'plain text' })).status, 200);
  });

  it('judges the tier that an update and a promotion write, and the memory that comes back', async () => {
    const id = await node.stored(CODER, 'brief/a', 'one');
    refused(await node.store(CODER, 'brief/a', 'two', { tier: 'long' }), 'store');
    refused(await put(id, { tier: 'long' }), 'update');
    refused(await node.call(CODER, 'POST', `/memories/${id}/promote`), 'promote');
    refused(await node.store(CODER, 'brief/a', 'one', { on_conflict: 'merge', tier: 'long' }), 'merge');
    const long = await node.stored(CODER, 'ruled2', 'PAYROLL', { tier: 'long' });
    assert.equal((await node.call(CODER, 'POST', '/archive', [long])).status, 200);
    const added = await node.cli([
      ...['rules', 'add', '--id', 'late', '--kind', 'custom', '--severity', 'refuse', '--reason', 'closed'],
      ...['--matcher', JSON.stringify({ kind: 'memory_write', namespace_glob: 'ruled2' })],
    ]);
    assert.equal(added.code, 0, added.err);
    refused(await node.call(CODER, 'POST', `/archive/${long}/restore`), 'restore');
  });
});
