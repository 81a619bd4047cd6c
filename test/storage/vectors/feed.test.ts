import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemCrypto } from '../../../node/seams.js';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { Command } from '../../../protocol/release.js';
import { Writer } from '../../../storage/sql/writer.js';
import { openReader } from '../../../storage/sqlite/connection.js';
import { openDatabase } from '../../../storage/sqlite/open-database.js';
import { VectorFollower } from '../../../storage/vectors/vector-follower.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { OPERATOR, storing, UNLIMITED } from '../../support/memories.js';

const NOW_MS = Date.parse('2026-01-02T00:00:00.000Z');

it('finds a memory that was embedded after the newest embedded one was deleted', () => {
  const path = join(temporaryFolder('feed'), 'feed.db');
  const db = openDatabase({
    path,
    identity: { peerId: 'peer-0000000000000001' },
    nowMs: NOW_MS,
    crypto: systemCrypto,
    freshEpoch: '0011223344556677',
    busyTimeoutMs: 100,
  });
  const writer = new Writer({
    db,
    crypto: systemCrypto,
    reportBug: (error) => {
      throw error;
    },
    signer: null,
    policy: UNLIMITED,
  });
  const run = (command: Command) => {
    const [result] = writer.run([{ command, nowMs: NOW_MS }]);
    assert.ok(result?.ok, JSON.stringify(result));
  };
  const vectors = new Uint8Array(Float32Array.of(1, 0, 0).buffer);
  const embed = (rid: number, id: string) =>
    run({
      kind: 'put-embeddings',
      rows: [{ rid, id, version: 1, state: EMBED_STATES.embedded, model: 'm', dim: 3, vectors }],
    });
  const reader = openReader(path);
  const follower = new VectorFollower(reader, { model: 'm', dim: 3 });
  const found = () => {
    const result = follower.search({
      queryVector: Float32Array.of(1, 0, 0),
      nsIds: null,
      ownerIds: null,
      k: 10,
      now: new Date(NOW_MS).toISOString(),
    });
    assert.ok(result.ok);
    return result.value.hits.map((hit) => hit.rid);
  };

  run(storing({ id: 'a', title: 'a' }));
  run(storing({ id: 'b', title: 'b' }));
  embed(1, 'a');
  assert.deepEqual(found(), [1]);
  run({ kind: 'delete-memory', id: 'a', archive: false, viewer: OPERATOR });
  embed(2, 'b');
  assert.deepEqual(found(), [2]);
  reader.close();
  db.close();
});
