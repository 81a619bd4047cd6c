import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { repairOf } from '../../protocol/mesh/repair-terms.js';
import type { Connection } from '../../storage/sqlite/connection.js';
import { InlineStore } from '../../storage/sqlite/inline-store.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { aMemory, deleting, storing, UNLIMITED, updating } from '../support/memories.js';

const START_MS = 1_772_000_000_000;
const ROWS = 6;
const folder = mkdtempSync(join(tmpdir(), 'mnemesh-corrupt-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const title = (i: number) => `TITLE-${i}-of-a-row`;
const content = (i: number) => `CONTENT ${i}`;
/** Title and content are neighbours in the table, title and namespace in the index. */
const IN_TABLE = title(2) + content(2);
const IN_INDEX = `${title(2)}global`;

interface Opened {
  readonly path: string;
  readonly db: Connection;
  readonly store: InlineStore;
  /** What was reported. */
  readonly bugs: string[];
  nowMs: number;
}

function open(path: string): Opened {
  const db = openDatabase({
    path,
    identity: { peerId: 'peer-a' },
    nowMs: START_MS,
    crypto: systemCrypto,
    freshEpoch: 'epocha',
    busyTimeoutMs: 100,
  });
  const bugs: string[] = [];
  const store = new InlineStore({
    db,
    clock: { nowMs: () => self.nowMs, monotonicMs: () => self.nowMs },
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
    reportBug: (error) => bugs.push(String(error)),
    signer: null,
    quota: UNLIMITED,
    shared: false,
  });
  const self = { path, db, store, bugs, nowMs: START_MS };
  return self;
}

/** Rows in a file; then the disk flips bits of its first byte `at` places behind where `text` begins. */
async function damaged(text: string, at = 0, bits = 1, expires_at: string | null = null) {
  files += 1;
  const path = join(folder, `${files}.db`);
  const before = open(path);
  const ids: string[] = [];
  for (let i = 0; i < ROWS; i += 1) {
    const memory = aMemory({ title: title(i), content: content(i), expires_at });
    ids.push(memory.id);
    assert.ok((await before.store.execute(storing(memory))).ok);
  }
  await before.store.close();
  const bytes = readFileSync(path);
  const found = bytes.indexOf(text);
  assert.ok(found >= 0 && bytes.indexOf(text, found + 1) < 0);
  bytes[found + at]! ^= bits;
  writeFileSync(path, bytes);
  return { ids, one: open(path) };
}

const update = (id: string, text: string) => updating(id, { content: text });

const codes = (results: readonly { ok: boolean; error?: { code: string } }[]) =>
  results.map(({ ok, error }) => (ok ? 'ok' : error?.code));

describe('a byte that the disk flips in an indexed column, or in an index', () => {
  for (const [where, text, code] of [
    ['the table', IN_TABLE, 'DATA_DAMAGED'],
    ['the index', IN_INDEX, 'DATABASE_ERROR'],
  ] as const) {
    it(`costs its command alone: ${where}`, async () => {
      const { ids, one } = await damaged(text);
      const results = await Promise.all([
        one.store.execute(update(ids[0]!, 'one neighbour')),
        one.store.execute(deleting(ids[2]!)),
        one.store.execute(update(ids[1]!, 'another')),
      ]);
      assert.deepEqual(codes(results), ['ok', code, 'ok']);
      assert.deepEqual(one.bugs, []);
      await one.store.close();
    });

    it(`names the command that repairs it: ${where}`, async () => {
      const { ids, one } = await damaged(text);
      // A repair takes the row away first, which the index does not allow.
      const command = where === 'the table' ? repairOf({ subjects: [ids[2]!] }) : deleting(ids[2]!);
      const failure = await one.store.execute(command);
      assert.ok(!failure.ok && failure.error.code === 'DATABASE_ERROR', JSON.stringify(failure));
      assert.match(failure.error.message, /mnemesh repair/);
      assert.deepEqual(failure.error.details, { corrupt: true });
      await one.store.close();
    });
  }
});
