import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { openAs } from '../../node/threads/open-database.js';
import { Writer } from '../../storage/sql/writer.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { storing, UNLIMITED } from '../support/memories.js';

it('acknowledges nothing while the database file is gone or another one has its name', () => {
  const folder = temporaryFolder('file-identity');
  const path = join(folder, 'mnemesh.db');
  const aside = join(folder, 'aside.db');
  const db = openAs({ engine: 'sqlite', path, synchronous: 'FULL' }, 'peer-0000000000000001', {
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
  const store = (title: string) => {
    const [result] = writer.run([{ command: storing({ title, id: title }), nowMs: Date.now() }]);
    return result?.ok === true ? 'ok' : result?.error.code;
  };
  assert.equal(store('before'), 'ok');
  renameSync(path, aside);
  assert.equal(store('gone'), 'DATABASE_ERROR');
  renameSync(aside, path);
  assert.equal(store('back'), 'ok');
  const titles = db.prepare('SELECT title FROM memories ORDER BY rid').pluck().all();
  assert.deepEqual(titles, ['before', 'back']);

  rmSync(path);
  writeFileSync(path, 'something else');
  assert.equal(store('replaced'), 'DATABASE_ERROR');
  db.close();
});
