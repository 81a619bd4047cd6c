import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { GovernedDaemon, type Row } from './governed-daemon.js';

const CODER = 'ai:coder';
const LEAD = 'ai:lead';
const OTHER = 'ai:other-lead';

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start('approved-rows');
  await node.register(CODER, LEAD, OTHER);
  await node.govern('gate', { write: 'approve', approver: { agent: LEAD } });
  await node.govern('kept', {
    write: 'any',
    delete: 'approve',
    promote: 'approve',
    approver: { agent: LEAD },
  });
});
after(() => node.end());

const edit = async (id: string) => {
  const edited = await node.call(CODER, 'PUT', `/memories/${id}`, { content: 'EVIL' });
  assert.equal(edited.status, 200, JSON.stringify(edited.body));
};

/** Each way to ask about rows: it answers the pending id, and the rows that the request is about. */
const REQUESTS: Readonly<
  Record<string, (name: string) => Promise<{ readonly asked: Row; readonly rows: readonly string[] }>>
> = {
  'an update that moves it': async (name) => {
    const id = await node.stored(CODER, 'mine', name);
    const { body } = await node.call(CODER, 'PUT', `/memories/${id}`, { namespace: 'gate' });
    return { asked: body, rows: [id] };
  },
  'a promotion to a namespace above, by tool': async (name) => {
    const id = await node.stored(CODER, 'gate2/below', name);
    const asked = await node.tools(CODER, (tool) => tool('memory_promote', { id, to_namespace: 'gate2' }));
    return { asked, rows: [id] };
  },
  'a consolidation': async (name) => {
    const rows = [
      await node.stored(CODER, 'mine', `${name} 1`),
      await node.stored(CODER, 'mine', `${name} 2`),
    ];
    const { body } = await node.call(CODER, 'POST', '/consolidate', {
      ...{ ids: rows, title: `${name} both`, namespace: 'gate' },
    });
    return { asked: body, rows };
  },
  'a deletion': async (name) => {
    const id = await node.stored(CODER, 'kept', name);
    const { body } = await node.call(CODER, 'DELETE', `/memories/${id}`);
    return { asked: body, rows: [id] };
  },
  'an archive of several': async (name) => {
    const rows = [
      await node.stored(CODER, 'kept', `${name} 1`),
      await node.stored(CODER, 'kept', `${name} 2`),
    ];
    const { body } = await node.call(CODER, 'POST', '/archive', rows);
    return { asked: body, rows };
  },
  'a promotion of its tier': async (name) => {
    const id = await node.stored(CODER, 'kept', name);
    const { body } = await node.call(CODER, 'POST', `/memories/${id}/promote`);
    return { asked: body, rows: [id] };
  },
  'a store that merges into it': async (name) => {
    const id = await node.stored(CODER, 'late', name);
    await node.govern('late', { write: 'approve', approver: { agent: LEAD } });
    const { body } = await node.store(CODER, 'late', name, { on_conflict: 'merge', content: 'merged' });
    await node.govern('late', { write: 'any', approver: { agent: LEAD } });
    return { asked: body, rows: [id] };
  },
  'an undo of its edit, by command': async (name) => {
    const id = await node.stored(CODER, 'mine', name);
    const moved = await node.call(CODER, 'PUT', `/memories/${id}`, { namespace: 'mine2' });
    assert.equal(moved.status, 200);
    await node.govern('mine', { write: 'approve', approver: { agent: LEAD } });
    const asked = await node.told(CODER, ['undo-edit', id]);
    await node.govern('mine', { write: 'any', approver: { agent: LEAD } });
    return { asked, rows: [id] };
  },
};

describe('an approved action about a row', { timeout: 180_000 }, () => {
  before(() =>
    node
      .govern('gate2', { write: 'approve', approver: { agent: LEAD } })
      .then(() => node.govern('gate2/below', { write: 'any', inherit: false })),
  );

  for (const [name, request] of Object.entries(REQUESTS)) {
    it(`is not executed when the row was edited meanwhile: ${name}`, async () => {
      const { asked, rows } = await request(name);
      assert.equal(asked['status'], 'pending', JSON.stringify(asked));
      await edit(rows.at(-1)!);
      const refused = await node.approve(LEAD, asked['pending_id']);
      assert.deepEqual([refused.status, refused.body['code']], [409, 'VERSION_CONFLICT'], name);
      for (const id of rows) assert.ok((await node.memory(CODER, id)) !== null, name);
      const texts = JSON.stringify([
        ...(await node.memories(CODER, 'gate')),
        ...(await node.memories(CODER, 'gate2')),
      ]);
      assert.ok(!texts.includes('EVIL'), texts);
      const { body } = await node.call(CODER, 'GET', '/pending?status=pending');
      assert.ok(
        (body['pending'] as Row[]).some(({ id }) => id === asked['pending_id']),
        'it waits on',
      );
    });

    it(`is executed when the row was only read meanwhile: ${name}`, async () => {
      const { asked, rows } = await request(`${name} read`);
      for (const id of rows) for (let n = 0; n < 6; n += 1) await node.memory(CODER, id);
      const done = await node.approve(LEAD, asked['pending_id']);
      assert.equal(done.status, 200, `${name}: ${JSON.stringify(done.body)}`);
    });
  }
});

describe('an approval of one approver', { timeout: 60_000 }, () => {
  before(async () => {
    await node.govern('own', { write: 'any', delete: 'approve', approver: { agent: OTHER } });
    await node.govern('team', { write: 'any', delete: 'approve', approver: { agent: LEAD } });
  });

  it('does not reach a row that was moved to the namespace of another one', async () => {
    const id = await node.stored(CODER, 'own', 'moved');
    const { body: asked } = await node.call(CODER, 'DELETE', `/memories/${id}`);
    const { body: moving } = await node.call(CODER, 'PUT', `/memories/${id}`, { namespace: 'team' });
    assert.equal((await node.approve(OTHER, moving['pending_id'])).status, 200);
    const refused = await node.approve(OTHER, asked['pending_id']);
    assert.equal(refused.status, 409, JSON.stringify(refused.body));
    assert.ok((await node.memory(CODER, id)) !== null);
  });

  it('does not count when the policy names another one since, for a deletion and for a store', async () => {
    const id = await node.stored(CODER, 'own', 'handed over');
    const { body: deleting } = await node.call(CODER, 'DELETE', `/memories/${id}`);
    await node.govern('own', { write: 'approve', delete: 'approve', approver: { agent: OTHER } });
    const { body: storing } = await node.store(CODER, 'own', 'new');
    await node.govern('own', { write: 'approve', delete: 'approve', approver: { consensus: 2 } });
    for (const { pending_id } of [deleting, storing]) {
      const refused = await node.approve(OTHER, pending_id);
      assert.deepEqual([refused.status, refused.body['code']], [403, 'GOVERNANCE_REFUSED']);
      assert.match(String(refused.body['error'] ?? refused.body['message']), /another approver/);
    }
    assert.ok((await node.memory(CODER, id)) !== null);
  });
});
