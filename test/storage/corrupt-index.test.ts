import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { problemsOf } from '../../actors/mesh/scrub-duty.js';
import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { repairOf } from '../../protocol/replication/repair-subjects.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { repairDatabase } from '../../storage/sqlite/repair-database.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { auditLog } from '../support/log-audit.js';
import { aMemory, deleting, storing, UNLIMITED, updating } from '../support/memories.js';
import { scrubbed } from '../support/scrubbed.js';
import { ofMemories } from '../support/subjects.js';
import { onlyOnSqlite } from '../support/test-store.js';

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
  readonly db: SqliteConnection;
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
    policy: UNLIMITED,
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

const OF_FILES = onlyOnSqlite('it flips bytes of the file, and repairs the file');

describe('a byte that the disk flips in an indexed column, or in an index', { skip: OF_FILES }, () => {
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
      const command =
        where === 'the table' ? repairOf({ subjects: ofMemories([ids[2]!]) }) : deleting(ids[2]!);
      const failure = await one.store.execute(command);
      assert.ok(!failure.ok && failure.error.code === 'DATABASE_ERROR', JSON.stringify(failure));
      assert.match(failure.error.message, /mnemesh repair/);
      assert.deepEqual(failure.error.details, { corrupt: true });
      await one.store.close();
    });
  }
});

describe('a repair of the file', { skip: OF_FILES }, () => {
  const repaired = (path: string) => {
    const done = repairDatabase({
      path,
      nowMs: START_MS,
      freshEpoch: 'repair',
      crypto: systemCrypto,
      step: () => {},
    });
    assert.ok(done.ok, JSON.stringify(done));
    return done.value;
  };
  const rowsOf = ({ db }: Opened) =>
    db.prepare('SELECT id, title, content FROM memories ORDER BY id').all() as {
      id: string;
      title: string;
    }[];
  const written = (ids: readonly string[]) =>
    ids.map((id, i) => ({ id, title: title(i), content: content(i) })).sort((a, b) => (a.id < b.id ? -1 : 1));
  const change = (path: string, edit: (bytes: Buffer) => void) => {
    const bytes = readFileSync(path);
    edit(bytes);
    writeFileSync(path, bytes);
  };

  for (const [where, text] of [
    ['the table', IN_TABLE],
    ['an index', IN_INDEX],
  ] as const) {
    it(`lets a scrub bring back what was written, after a flipped byte in ${where}`, async () => {
      const { ids, one } = await damaged(text);
      await one.store.close();
      const done = repaired(one.path);
      assert.ok(done.found.length > 0 && done.indexes > 10);
      assert.deepEqual([done.texts, done.clashes, done.left], [ROWS, [], []]);
      const again = open(one.path);
      assert.equal(again.db.pragma('integrity_check', { simple: true }), 'ok');
      await scrubbed(again);
      assert.deepEqual(rowsOf(again), written(ids));
      assert.equal(problemsOf(await scrubbed(again)), 0);
      assert.ok((await again.store.execute(deleting(ids[2]!))).ok);
      await again.store.close();
      assert.deepEqual(auditLog(one.path), []);
    });
  }

  it('parts rows of one title, names them, and a scrub brings back what was written', async () => {
    // 2 becomes 3.
    const { ids, one } = await damaged(IN_TABLE, 'TITLE-'.length);
    assert.equal(rowsOf(one).filter((row) => row.title === title(3)).length, 2);
    await one.store.close();
    const done = repaired(one.path);
    assert.deepEqual([done.clashes, done.left], [[ids[2]], []]);
    const again = open(one.path);
    const listed = await again.store.query({ kind: 'list-suspects', limit: 10 });
    assert.deepEqual(listed.ok && listed.value.suspects.map(({ subject }) => subject.id), [ids[2]]);
    await scrubbed(again);
    assert.deepEqual(rowsOf(again), written(ids));
    assert.equal(problemsOf(await scrubbed(again)), 0);
    await again.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('parts rows of one id, names them, and a scrub brings back what was written', async () => {
    const { ids, one } = await damaged(IN_INDEX);
    const { tier } = one.db.prepare('SELECT tier FROM memories').get() as { tier: string };
    await one.store.close();
    change(one.path, (bytes) => {
      const at = bytes.indexOf(ids[4]! + tier);
      assert.ok(at >= 0);
      bytes.write(ids[5]!, at, 'latin1');
    });
    const done = repaired(one.path);
    assert.deepEqual([[...done.clashes].sort(), done.left], [[ids[4], ids[5]].sort(), []]);
    const again = open(one.path);
    await scrubbed(again);
    assert.deepEqual(rowsOf(again), written(ids));
    assert.equal(problemsOf(await scrubbed(again)), 0);
    await again.store.close();
    assert.deepEqual(auditLog(one.path), []);
  });

  it('indexes the texts again', async () => {
    const { ids, one } = await damaged(IN_INDEX);
    const found = (opened: Opened, word: string) =>
      opened.db.prepare('SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?').pluck().get(word);
    one.db.exec(
      "DELETE FROM memories_fts WHERE rowid = 1; INSERT INTO memories_fts (rowid, title) VALUES (77, 'ghost')",
    );
    assert.deepEqual([found(one, 'content'), found(one, 'ghost')], [ROWS - 1, 1]);
    await one.store.close();
    assert.equal(repaired(one.path).texts, ROWS);
    const again = open(one.path);
    assert.deepEqual([found(again, 'content'), found(again, 'ghost')], [ROWS, 0]);
    assert.ok((await again.store.execute(update(ids[0]!, 'other words'))).ok);
    assert.deepEqual([found(again, 'content'), found(again, 'other')], [ROWS - 1, 1]);
    await again.store.close();
  });

  it('says which index cannot be built, and builds the others', async () => {
    const { ids, one } = await damaged(IN_TABLE);
    assert.ok((await one.store.execute(deleting(ids[5]!))).ok);
    await one.store.close();
    // The owner of an archived row is taken out of its metadata.
    change(one.path, (bytes) => {
      const text = title(5) + content(5);
      for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
        bytes[bytes.indexOf('{"agent_id"', at)]! ^= 1;
    });
    const done = repaired(one.path);
    assert.match(done.left.join('\n'), /the index \w+ could not be built: .*JSON/);
    const again = open(one.path);
    await scrubbed(again);
    assert.deepEqual(rowsOf(again), written(ids.slice(0, 5)));
    await again.store.close();
  });

  it('brings back an index, a trigger and a full-text table that are gone', async () => {
    for (const gone of ['INDEX memories_title', 'TRIGGER memories_fts_delete', 'TABLE memories_fts']) {
      const path = join(folder, `gone-${gone.split(' ')[1]}.db`);
      const before = open(path);
      assert.ok(
        (await before.store.execute(storing({ title: 'kept', content: 'a word 倉庫内 parseUserToken' }))).ok,
      );
      const schema = ({ db }: Opened) =>
        db
          .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'memories_fts_%' ORDER BY name")
          .all();
      const whole = schema(before);
      before.db.exec(`DROP ${gone}`);
      await before.store.close();
      assert.deepEqual(repaired(path).left, []);
      const after = open(path);
      assert.deepEqual(schema(after), whole);
      const found = after.db.prepare('SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?').pluck();
      for (const word of ['word', '"庫内"', '"user token"']) assert.equal(found.get(word), 1, word);
      await after.store.close();
    }
  });

  it('is refused while another process has the database open, and for what is no database', async () => {
    const { one } = await damaged(IN_INDEX);
    const options = { nowMs: START_MS, freshEpoch: 'repair', crypto: systemCrypto, step: () => {} };
    const codeOf = (path: string) => {
      const done = repairDatabase({ path, ...options });
      return done.ok ? 'ok' : done.error.code;
    };
    assert.equal(codeOf(one.path), 'DATABASE_IN_USE');
    await one.store.close();
    assert.equal(codeOf(one.path), 'ok');
    writeFileSync(one.path, 'no database at all'.repeat(100));
    assert.equal(codeOf(one.path), 'DATABASE_ERROR');
    assert.equal(codeOf(`${one.path}.gone`), 'NOT_FOUND');
    writeFileSync(`${one.path}.empty`, '');
    assert.equal(codeOf(`${one.path}.empty`), 'DATABASE_ERROR');
  });
});

it('a self-check of the engine names damage, and the scrub reports it', { skip: OF_FILES }, async () => {
  const { one: whole } = await damaged(IN_INDEX);
  await whole.store.close();
  const bytes = readFileSync(whole.path);
  // The number of cells of the page that holds the rows.
  const page = Math.floor(bytes.indexOf(title(1) + content(1)) / 4096) * 4096;
  bytes[page + 4]! ^= 0x40;
  writeFileSync(whole.path, bytes);
  const one = open(whole.path);
  const problems: string[] = [];
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const checked: Awaited<ReturnType<InlineStore['selfCheck']>> = await one.store.selfCheck(cursor);
    assert.ok(checked.ok, JSON.stringify(checked));
    problems.push(...checked.value.problems);
    cursor = checked.value.next;
  }
  assert.match(problems.join('\n'), /^memories: /m);
  await one.store.close();
});
