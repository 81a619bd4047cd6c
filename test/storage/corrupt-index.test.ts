import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { problemsOf } from '../../actors/mesh/scrub-duty.js';
import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { headerHash } from '../../protocol/operation-log.js';
import { type Connection, openReader } from '../../storage/sqlite/connection.js';
import { InlineStore } from '../../storage/sqlite/inline-store.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { auditLog } from '../support/log-audit.js';
import { aMemory, deleting, storing, UNLIMITED, updating } from '../support/memories.js';
import { replica, verified } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';

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
const rowsOf = ({ db }: Opened) =>
  db.prepare('SELECT id, title, content FROM memories ORDER BY rid').all() as {
    id: string;
    title: string;
    content: string;
  }[];
const reported = ({ bugs }: Opened) => bugs.filter((bug) => bug.includes('did not agree')).length;

describe('a byte that the disk flips in an indexed column', () => {
  for (const [name, change] of [
    ['an update', (id: string) => update(id, 'written on top')],
    ['a delete', deleting],
  ] as const) {
    it(`is healed by ${name} of the row, beside its neighbours`, async () => {
      const { ids, one } = await damaged(IN_TABLE);
      const results = await Promise.all([
        one.store.execute(update(ids[0]!, 'one neighbour')),
        one.store.execute(change(ids[2]!)),
        one.store.execute(update(ids[1]!, 'another')),
      ]);
      assert.deepEqual(codes(results), ['ok', 'ok', 'ok']);
      const row = rowsOf(one).find(({ id }) => id === ids[2]);
      assert.deepEqual(row?.title, name === 'a delete' ? undefined : title(2));
      assert.equal(reported(one), 1);
      await one.store.close();
      assert.deepEqual(auditLog(one.path), []);
    });
  }

  it('does not stop the expiry', async () => {
    const { one } = await damaged(IN_TABLE, 0, 1, '2026-03-01T00:00:00.000Z');
    one.nowMs = Date.parse('2026-06-01T00:00:00Z');
    const done = await one.store.execute({ kind: 'expire-memories', limit: 100, archive: true });
    assert.ok(done.ok);
    assert.equal(done.value.expired, ROWS);
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it("does not stop a page of a peer's operations", async () => {
    const { ids, one } = await damaged(IN_TABLE);
    const own = await one.store.query({
      kind: 'read-operations',
      have: {},
      origins: null,
      limit: 100,
      bytesMax: 1e9,
    });
    assert.ok(own.ok);
    const other = replica('b', START_MS);
    await other.apply(own.value.operations);
    for (const id of ids) await other.run(update(id, `from the peer ${id}`));
    const operations = await other.read({ 'peer-a/epocha': ROWS });
    const last = operations[operations.length - 1]!;
    const heads = [
      {
        origin: last.origin,
        seq: last.seq,
        hash: headerHash(last, systemCrypto),
        signature: 'test',
      },
    ];
    const done = await one.store.execute({
      kind: 'apply-operations',
      from: 'peer-b',
      heads,
      nonce: null,
      operations: operations.map(verified),
    });
    assert.ok(done.ok, JSON.stringify(done));
    assert.equal(done.value.applied, ROWS);
    assert.deepEqual(
      rowsOf(one).map((row) => row.content),
      rowsOf(one).map((row) => `from the peer ${row.id}`),
    );
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('is healed by a scrub, and looking only changes nothing', async () => {
    const { ids, one } = await damaged(IN_TABLE);
    const looked = await scrubbed(one, null, true);
    assert.equal(looked.indexes, 1);
    assert.notEqual(one.db.pragma('integrity_check', { simple: true }), 'ok');
    const report = await scrubbed(one);
    assert.equal(report.indexes, 1);
    assert.deepEqual(
      report.repaired.map(({ subject }) => subject),
      [ids[2]],
    );
    assert.equal(problemsOf(await scrubbed(one)), 0);
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('may make a title that of another row, which a scrub heals', async () => {
    // 2 becomes 3.
    const { ids, one } = await damaged(IN_TABLE, 'TITLE-'.length);
    assert.equal(rowsOf(one)[2]?.title, title(3));
    const report = await scrubbed(one);
    assert.deepEqual([report.indexes, report.lost_count], [1, 0]);
    const titles = new Map(rowsOf(one).map((row) => [row.id, row.title]));
    assert.deepEqual(
      ids.map((id) => titles.get(id)),
      ids.map((_, i) => title(i)),
    );
    assert.equal(problemsOf(await scrubbed(one)), 0);
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('costs its command alone where the index cannot be built', async () => {
    const { ids, one: whole } = await damaged(IN_TABLE);
    const { tier } = whole.db.prepare('SELECT tier FROM memories').get() as { tier: string };
    await whole.store.close();
    // Row 2 has an id that the index does not know, and rows 4 and 5 have one id.
    const bytes = readFileSync(whole.path);
    const inTable = (id: string) => {
      const at = bytes.indexOf(id + tier);
      assert.ok(at >= 0);
      return at;
    };
    bytes[inTable(ids[2]!)]! ^= 1;
    bytes.write(ids[5]!, inTable(ids[4]!), 'latin1');
    writeFileSync(whole.path, bytes);
    const one = open(whole.path);
    for (let i = 0; i < 3; i += 1) {
      const results = await Promise.all([
        one.store.execute(update(ids[0]!, `one neighbour ${i}`)),
        one.store.execute(deleting(ids[2]!)),
        one.store.execute(update(ids[1]!, `another ${i}`)),
      ]);
      assert.deepEqual(codes(results), ['ok', 'DATABASE_ERROR', 'ok']);
    }
    // The others do not wait for a look at all indexes each time.
    assert.equal(reported(one), 1);
    await one.store.close();
  });
});

describe('a byte that the disk flips beside a damaged index', () => {
  it('leaves an index as it is where it cannot be computed, and the others are built', async () => {
    const { ids, one: whole } = await damaged(IN_TABLE);
    assert.ok((await whole.store.execute(deleting(ids[5]!))).ok);
    await whole.store.close();
    // The owner of an archived row is taken out of its metadata.
    const bytes = readFileSync(whole.path);
    const text = title(5) + content(5);
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
      bytes[bytes.indexOf('{"agent_id"', at)]! ^= 1;
    writeFileSync(whole.path, bytes);
    const one = open(whole.path);
    const results = await Promise.all([
      one.store.execute(update(ids[0]!, 'a neighbour')),
      one.store.execute(update(ids[2]!, 'written on top')),
    ]);
    assert.deepEqual(codes(results), ['ok', 'ok']);
    assert.ok(one.bugs.some((bug) => bug.includes('malformed JSON')));
    assert.equal(rowsOf(one).find(({ id }) => id === ids[2])?.title, title(2));
    await one.store.close();
  });
});

describe('a byte that the disk flips in an index', () => {
  it('is healed by a write to the row', async () => {
    const { ids, one } = await damaged(IN_INDEX);
    const results = await Promise.all([
      one.store.execute(deleting(ids[2]!)),
      one.store.execute(update(ids[1]!, 'a neighbour')),
    ]);
    assert.deepEqual(codes(results), ['ok', 'ok']);
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('is healed by a scrub that a reader beside it sees', async () => {
    const { one } = await damaged(IN_INDEX);
    const reader = openReader(one.path);
    const report = await scrubbed(one);
    assert.deepEqual([report.indexes, report.repaired.length], [1, 0]);
    assert.equal(reader.pragma('integrity_check', { simple: true }), 'ok');
    reader.close();
    await one.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });
});
