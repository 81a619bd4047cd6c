import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeleteMemory } from '../../../protocol/memory/remove.js';
import { OPERATOR, tenant } from '../../support/memories.js';
import { aRow, at, decideOver, NOW, onlyMutation, refused, removalOf, taken } from '../decide/answerer.js';

const deleting = (rest: Partial<DeleteMemory> = {}): DeleteMemory => ({
  kind: 'delete-memory',
  id: 'm1',
  archive: true,
  viewer: OPERATOR,
  ...rest,
});

describe('a delete', () => {
  for (const archive of [true, false]) {
    it(`removes the row and says whether a copy is kept (${archive})`, () => {
      const row = aRow({ id: 'm1' });
      const outcome = decideOver(deleting({ archive }), [row, aRow({ id: 'm2' })]);
      assert.deepEqual(taken(outcome).value, { id: 'm1', namespace: row.namespace, archived: archive });
      const removal = removalOf(row, { word: 'delete', reason: 'delete', archive });
      assert.deepEqual(onlyMutation(outcome, 'remove'), removal);
    });
  }

  it('of what is unknown, expired or invisible is NOT_FOUND, all alike', () => {
    const viewer = tenant('ai:b');
    for (const rows of [
      [],
      [aRow({ id: 'm1', expires_at: NOW })],
      [aRow({ id: 'm1', metadata: { agent_id: 'ai:a', scope: 'private' } })],
    ]) {
      const error = refused(decideOver(deleting({ viewer }), rows));
      assert.deepEqual(error, { code: 'NOT_FOUND', message: 'memory not found' });
    }
  });

  it('under a version that the memory no longer has is VERSION_CONFLICT', () => {
    const row = aRow({ id: 'm1', version: 3 });
    const { code, ...details } = refused(decideOver(deleting({ expectedVersion: 2 }), [row]));
    assert.equal(code, 'VERSION_CONFLICT');
    assert.match(JSON.stringify(details), /"expected_version":2,"current_version":3/);
    assert.equal(taken(decideOver(deleting({ expectedVersion: 3 }), [row])).value.id, 'm1');
  });

  it('is for the owner and for the addressee of a message', () => {
    const message = aRow({
      id: 'm1',
      metadata: { agent_id: 'ai:a', scope: 'private', target_agent_id: 'ai:b' },
    });
    for (const agent of ['ai:a', 'ai:b']) {
      const outcome = decideOver(deleting({ viewer: tenant(agent) }), [message]);
      assert.equal(taken(outcome).value.id, 'm1');
    }
    const open = aRow({ id: 'm1', metadata: { agent_id: 'ai:a', recipient_agent_id: 'ai:b' } });
    assert.equal(taken(decideOver(deleting({ viewer: tenant('ai:b') }), [open])).value.id, 'm1');
    assert.equal(refused(decideOver(deleting({ viewer: tenant('ai:c') }), [open])).code, 'FORBIDDEN');
  });
});

describe('the collection of expired rows', () => {
  const rows = [
    aRow({ id: 'a', expires_at: at(-10) }),
    aRow({ id: 'b', expires_at: NOW }),
    aRow({ id: 'c', expires_at: at(0.001) }),
    aRow({ id: 'd', expires_at: null }),
  ];
  const collect = (limit: number, archive = true) =>
    decideOver({ kind: 'expire-memories', limit, archive }, rows);

  it('removes exactly those whose instant has come', () => {
    const { value, mutations } = taken(collect(10, false));
    assert.deepEqual(value, { expired: 2, more: false });
    assert.deepEqual(
      mutations,
      rows
        .slice(0, 2)
        .map((row) => removalOf(row, { word: 'expire', reason: 'ttl_expired', archive: false })),
    );
  });

  it('takes no more than its limit and says that there may be more', () => {
    const { value, mutations } = taken(collect(1));
    assert.deepEqual(value, { expired: 1, more: true });
    assert.equal(mutations.length, 1);
  });
});
