import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemCrypto } from '../../node/seams.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { event } from '../support/wait.js';

/** Makes an index as an opening process does, and keeps the lock until the other one must have looked. */
const SLOW_OPENING = `
  const { workerData } = require('node:worker_threads');
  const db = require(workerData.driver)(workerData.path);
  db.exec('BEGIN IMMEDIATE');
  db.exec(workerData.sql);
  Atomics.store(workerData.gate, 0, 1);
  Atomics.notify(workerData.gate, 0);
  Atomics.wait(workerData.gate, 0, 1, 500);
  db.exec('COMMIT');
  db.close();
`;

for (const index of ['subscriptions_by_created_at', 'subscription_events_by_key']) {
  it(`a database opens while another process makes its index ${index}`, { timeout: 60_000 }, async () => {
    const folder = temporaryFolder('kinds-together');
    const path = join(folder, 'a.db');
    const identity = { peerId: 'peer-a' };
    const open = () =>
      openDatabase({
        ...{ path, identity, nowMs: 1_772_000_000_000, crypto: systemCrypto, freshEpoch: 'e' },
        busyTimeoutMs: 100,
      });
    try {
      const made = open();
      const sql = made.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(index) as string;
      made.exec(`DROP INDEX ${index}`);
      made.close();
      const gate = new Int32Array(new SharedArrayBuffer(4));
      const driver = createRequire(import.meta.url).resolve('better-sqlite3');
      const other = new Worker(SLOW_OPENING, { eval: true, workerData: { path, sql, gate, driver } });
      const ended = event('the other one ends', other, 'exit');
      Atomics.wait(gate, 0, 0);
      const opened = open();
      const named = opened.prepare('SELECT count(*) FROM sqlite_schema WHERE name = ?').pluck();
      assert.equal(named.get(index), 1);
      opened.close();
      assert.deepEqual(await ended, [0]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
