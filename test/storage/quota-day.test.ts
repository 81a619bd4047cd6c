import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { openAs } from '../../node/threads/open-database.js';
import { DEFAULT_NODE_POLICY } from '../../protocol/decide/node-policy.js';
import { chargedBytes } from '../../protocol/identity/quota.js';
import type { Connection } from '../../storage/sql/connection.js';
import { Reader } from '../../storage/sql/reader.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../../storage/sql/rows.js';
import { Writer } from '../../storage/sql/writer.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { storing } from '../support/memories.js';

const MIDNIGHT = Date.parse('2026-07-02T00:00:00.000Z');
const quota = {
  memoriesPerDay: 3,
  storageBytes: 1e9,
  linksPerDay: 1,
  registrationsPerDay: 1,
  databaseBytes: null,
};

describe('the quotas at the end of a day', () => {
  const folder = temporaryFolder('quota-day');
  const path = join(folder, 'mnemesh.db');
  let connections: Connection[];
  let writers: Writer[];
  let n = 0;
  before(() => {
    connections = [1, 2].map(() =>
      openAs({ engine: 'sqlite', path, synchronous: 'OFF' }, 'peer-0000000000000001', {
        busyTimeoutMs: 1000,
      }),
    );
    writers = connections.map(
      (db) =>
        new Writer({
          db,
          crypto: systemCrypto,
          reportBug: (error) => {
            throw error;
          },
          signer: null,
          policy: { ...DEFAULT_NODE_POLICY, quota },
        }),
    );
  });
  after(() => {
    for (const db of connections) db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Stores at the given milliseconds from midnight, in one batch; the codes. */
  const store = (writer: number, ...times: number[]) =>
    writers[writer]!.run(
      times.map((ms) => {
        n += 1;
        return { command: storing({ id: `id-${n}`, title: `t-${n}` }), nowMs: MIDNIGHT + ms };
      }),
    ).map((result) => (result.ok ? 'ok' : result.error.code));
  const use = () => {
    const answer = new Reader(connections[0]!).run({
      kind: 'list-quotas',
      holder: 'ai:writer',
      namespace: null,
    });
    assert.ok(answer.ok);
    assert.equal(answer.value.uses.length, 1);
    return answer.value.uses[0]!;
  };

  it('roll once, at the millisecond, inside a batch and from any process', () => {
    assert.deepEqual(store(0, -3000, -2000), ['ok', 'ok']);
    assert.deepEqual(store(1, -1000), ['ok']);
    assert.deepEqual(store(0, -1, 0, 1), ['QUOTA_EXCEEDED', 'ok', 'ok']);
    assert.deepEqual([use().memoriesToday, use().dayStartedAt], [2, '2026-07-02T00:00:00.000Z']);
    // A process whose clock is behind counts against the day that has begun: there is no second roll.
    assert.deepEqual(store(1, -1, 2, 3), ['ok', 'QUOTA_EXCEEDED', 'QUOTA_EXCEEDED']);
    assert.equal(use().memoriesToday, 3);
    assert.deepEqual(store(1, 86_400_000), ['ok']);
    assert.equal(use().memoriesToday, 1);
  });

  it('keep the bytes, which are the sum over the rows', () => {
    const rows = connections[0]!.prepare(`SELECT ${SELECT_ROW} FROM memories m`).all() as SqlRow[];
    assert.equal(
      use().storageBytes,
      rows.reduce((sum, row) => sum + chargedBytes(memoryFromSql(row)), 0),
    );
  });

  it('never let more than the cap through, over any interleaving of two processes', () => {
    for (let round = 0; round < 20; round += 1) {
      const at = 86_400_000 * (round + 2);
      const codes = [0, 1, 0, 1].flatMap((writer) => store(writer, at, at));
      assert.equal(codes.filter((code) => code === 'ok').length, 3);
    }
  });
});
