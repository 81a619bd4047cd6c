import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBenchDatabase } from '../bench/database.js';
import { storeBatches } from '../bench/limits.js';
import { temporaryFolder } from '../support/daemon-process.js';

/** The aim is 12; what each table and index takes: docs/decisions/storage.md, "Pages of a store". */
const PAGES_MAX = 26.5;
const WAL_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4096;
const STORES = 200;

test('a plain store by one client writes few pages of the write-ahead log', () => {
  const path = join(temporaryFolder('pages'), 'mnemesh.db');
  const database = openBenchDatabase(path, 'NORMAL');
  const many = storeBatches(500);
  const one = storeBatches(1);
  for (let filled = 0; filled < 2000; filled += 500) database.write(many());
  database.db.pragma('wal_autocheckpoint = 0');
  database.db.pragma('wal_checkpoint(TRUNCATE)');
  for (let store = 0; store < STORES; store += 1) database.write(one());
  const pages = (statSync(`${path}-wal`).size - WAL_HEADER_BYTES) / FRAME_BYTES / STORES;
  database.close();
  assert.ok(pages > 1 && pages <= PAGES_MAX, `${pages} pages a store, at most ${PAGES_MAX}`);
});
