import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqlite } from '../../../storage/sqlite/open-sqlite.js';
import { VectorFollower, type VectorRequest } from '../../../storage/vectors/vector-follower.js';
import { EmbeddingDatabase, MODEL, NOW } from './embedding-database.js';

const REQUEST: VectorRequest = {
  queryVector: Float32Array.of(1, 0),
  nsIds: null,
  ownerIds: null,
  k: 10,
  now: NOW,
};

function withFollower(
  run: (
    written: EmbeddingDatabase,
    find: (request?: Partial<VectorRequest>) => number[],
    follower: VectorFollower,
  ) => void,
  bytesMax?: number,
): void {
  const written = new EmbeddingDatabase();
  const reader = openSqlite(written.path, { readonly: true });
  try {
    const source = { model: MODEL, dim: 2 };
    const follower = new VectorFollower(reader, bytesMax === undefined ? source : { ...source, bytesMax });
    const find = (request: Partial<VectorRequest> = {}) => {
      const outcome = follower.search({ ...REQUEST, ...request });
      if (!outcome.ok) throw new Error(outcome.error.message);
      return outcome.value.hits.map(({ rid }) => rid);
    };
    run(written, find, follower);
  } finally {
    reader.close();
    written.close();
  }
}

test('loads what is there at the first search and sees later embeddings at the next', () => {
  withFollower((written, find, follower) => {
    written.store(1);
    written.store(2);
    written.embed(1, [1, 0]);
    assert.equal(follower.size, 0);
    assert.deepEqual(find(), [1]);
    written.embed(2, [1, 0.1]);
    assert.deepEqual(find(), [1, 2]);
    written.embed(1, [0, 1]);
    assert.deepEqual(find(), [2, 1]);
  });
});

test('a deleted memory, a moved one and a removed embedding are followed through the log', () => {
  withFollower((written, find) => {
    for (const rid of [1, 2, 3]) {
      written.store(rid);
      written.embed(rid, [1, rid / 10]);
    }
    assert.deepEqual(find(), [1, 2, 3]);
    written.change(1, 'DELETE FROM memories WHERE rid = 1');
    assert.deepEqual(find(), [2, 3]);
    written.change(2, 'UPDATE memories SET ns_id = 4 WHERE rid = 2');
    assert.deepEqual(find({ nsIds: [1] }), [3]);
    assert.deepEqual(find({ nsIds: [4] }), [2]);
    written.change(3, 'DELETE FROM memory_embeddings WHERE rid = 3');
    assert.deepEqual(find(), [2]);
  });
});

test('a change without an operation never shows a row that is gone', () => {
  withFollower((written, find) => {
    for (const rid of [1, 2]) {
      written.store(rid);
      written.embed(rid, [1, rid / 10]);
    }
    assert.deepEqual(find(), [1, 2]);
    written.database.exec('DELETE FROM memories WHERE rid = 1');
    assert.deepEqual(find(), [2]);
  });
});

test('scopes: unknown words are private, team and its kin pass on to the gate', () => {
  withFollower((written, find) => {
    const rows: [number, Record<string, unknown>][] = [
      [1, { agent_id: 'ada', scope: 'private' }],
      [2, { agent_id: 'ada', scope: 'Collective' }],
      [3, { agent_id: 'ada', scope: 'collective' }],
      [4, { agent_id: 'ada' }],
      [5, { agent_id: 'ada', scope: 'team' }],
      [6, { agent_id: 'ada', scope: 'private', target_agent_id: 'bob' }],
      [7, { scope: 'private', recipient_agent_id: 'bob' }],
      [8, { scope: 'private' }],
    ];
    for (const [rid, metadata] of rows) {
      written.store(rid, { metadata });
      written.embed(rid, [1, rid / 100]);
    }
    assert.deepEqual(find(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(find({ ownerIds: ['ada'] }), [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(find({ ownerIds: ['bob'] }), [3, 4, 5, 6, 7]);
    assert.deepEqual(find({ ownerIds: ['eve'] }), [3, 4, 5]);
    assert.deepEqual(find({ ownerIds: [] }), [3, 4, 5]);
    const made = JSON.stringify({ agent_id: 'ada', scope: 'private' });
    written.change(4, 'UPDATE memories SET metadata = ? WHERE rid = 4', made);
    assert.deepEqual(find({ ownerIds: ['bob'] }), [3, 5, 6, 7]);
  });
});

test('expiry is that of the moment, also where a touch has moved it without an operation', () => {
  withFollower((written, find) => {
    written.store(1, { expiresAt: '2025-12-31T00:00:00.000Z' });
    written.store(2, { expiresAt: '2026-01-02T00:00:00.000Z' });
    written.store(3);
    for (const rid of [1, 2, 3]) written.embed(rid, [1, rid / 10]);
    assert.deepEqual(find(), [2, 3]);
    written.database.exec("UPDATE memories SET expires_at = '2026-01-03T00:00:00.000Z' WHERE rid = 1");
    assert.deepEqual(find(), [1, 2, 3]);
    assert.deepEqual(find({ now: '2026-01-02T00:00:00.000Z' }), [1, 3]);
  });
});

test('only vectors of its model and dimension count, and unusable ones are passed over', () => {
  withFollower((written, find) => {
    for (const rid of [1, 2, 3, 4]) written.store(rid);
    written.embed(1, [1, 0], 'another-model');
    written.embed(2, [Number.NaN, 1]);
    written.embed(3, [1, 0, 1]);
    written.embed(4, [0, 1, 1, 1]);
    assert.deepEqual(find(), [4]);
    written.embed(1, [1, 0]);
    assert.deepEqual(find(), [1, 4]);
  });
});

test('a pruned log, a log that went back and a new epoch lead to a fresh load', () => {
  withFollower((written, find) => {
    for (const rid of [1, 2, 3]) {
      written.store(rid);
      written.embed(rid, [1, rid / 10]);
    }
    assert.deepEqual(find(), [1, 2, 3]);
    written.change(1, 'UPDATE memories SET ns_id = 2 WHERE rid = 1');
    written.log(3);
    written.database.exec('DELETE FROM operations WHERE commit_sequence < 5');
    assert.deepEqual(find({ nsIds: [2] }), [1]);
    written.database.exec('UPDATE memories SET ns_id = 3 WHERE rid = 2; DELETE FROM operations');
    assert.deepEqual(find({ nsIds: [3] }), [2]);
    written.database.exec(
      "UPDATE memories SET ns_id = 4 WHERE rid = 3; UPDATE log_state SET db_epoch = 'epoch-2'",
    );
    assert.deepEqual(find({ nsIds: [4] }), [3]);
  });
});

test('a query of another dimension or without direction is refused', () => {
  withFollower((_written, _find, follower) => {
    for (const queryVector of [Float32Array.of(1), Float32Array.of(0, 0), Float32Array.of(Number.NaN, 1)]) {
      const outcome = follower.search({ ...REQUEST, queryVector });
      assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'INVALID_ARGUMENT');
    }
  });
});

test('rows beyond the memory limit fail the search until they fit again', () => {
  withFollower((written, find, follower) => {
    const pages = 8 * 65_536;
    written.database.transaction(() => {
      for (let rid = 1; rid <= pages / 20; rid += 1) {
        written.store(rid);
        written.embed(rid, [1, rid]);
      }
    })();
    const outcome = follower.search(REQUEST);
    assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'STORAGE_FULL');
    written.change(1, 'DELETE FROM memories WHERE rid > 5');
    assert.deepEqual(find(), [1, 2, 3, 4, 5]);
  }, 8 * 65_536);
});

const NO_FILTER = { tags: [], since: null, until: null, kinds: null };

test('what passes the filter and the gate is chosen before the best are, however many nearer rows do not', () => {
  withFollower((written, find) => {
    const count = 3000;
    for (let rid = 1; rid <= count; rid += 1) {
      written.store(rid, { metadata: rid % 2 === 0 ? { scope: 'team', agent_id: 'other' } : {} });
      written.embed(rid, [1, rid / count]);
    }
    const claim = 'UPDATE memories SET memory_kind = ? WHERE rid = ?';
    for (const rid of [2900, 2901, 2999]) written.change(rid, claim, 'claim', rid);
    written.change(5, 'UPDATE memories SET atomised_into = 2 WHERE rid = ?', 5);
    const claims = { ...NO_FILTER, kinds: ['claim'] };
    assert.deepEqual(find({ k: 2, filter: claims }), [2900, 2901]);
    assert.deepEqual(find({ k: 5, filter: claims }), [2900, 2901, 2999]);
    assert.deepEqual(find({ k: 5, filter: { ...NO_FILTER, kinds: [] } }), []);
    const stranger = { all: false, agentId: 'me', asNamespace: null };
    assert.deepEqual(find({ k: 2, ownerIds: ['me'], filter: claims, viewer: stranger }), [2901, 2999]);
    assert.deepEqual(find({ k: 3, ownerIds: ['me'], viewer: stranger, filter: NO_FILTER }), [1, 3, 7]);
    assert.deepEqual(
      find({ k: 3, viewer: stranger, filter: { ...NO_FILTER, includeArchived: true } }),
      [1, 3, 5],
    );
  });
});
