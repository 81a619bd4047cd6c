import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import { LOCKS } from '../../storage/postgres/server-presence.js';
import { auditHeadPath } from '../../storage/sql/audit-head.js';
import type { Connection } from '../../storage/sql/connection.js';
import type { TableShape } from '../../storage/sql/copy-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { tableShapes } from '../../storage/sqlite/table-shapes.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { databaseFacts } from '../support/formats/database-facts.js';
import { keptDatabase, keptFacts } from '../support/formats/format-files.js';
import { formatPeer, openFormat } from '../support/formats/format-node.js';
import { auditDatabase } from '../support/log-audit.js';
import { PostgresServer, withoutServer } from '../support/postgres-server.js';
import { event, until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

const SHAPES = tableShapes();
const LATER_MS = parseRfc3339Ms(keptFacts().ended_at)! + 60_000;
const START = {
  identity: { peerId: formatPeer('ash').peerId },
  nowMs: LATER_MS,
  freshEpoch: '00000000feedfeed',
};

interface Answer {
  readonly code?: string;
  readonly error?: string;
  readonly resumed: boolean;
  readonly verified: boolean;
  readonly digest: string | null;
  readonly rows: Readonly<Record<string, number>>;
  readonly memories_read: number;
  readonly memories_written: number;
}

/** All rows of a database, by table. */
const contentOf = (db: Connection): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    SHAPES.map(({ table, columns, key }) => [
      table,
      db
        .prepare(`SELECT ${columns.join(', ')} FROM ${table} ORDER BY ${key.join(', ')}`)
        .raw()
        .all(),
    ]),
  );

/** A row for a table without one, as long as its columns take plain values. */
function fill(db: ReturnType<typeof openSqlite>, { table, columns }: TableShape): void {
  if (db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined) return;
  const types = db
    .prepare<[string], { readonly name: string; readonly type: string }>(
      'SELECT name, type FROM pragma_table_info(?)',
    )
    .all(table);
  const rids = db
    .prepare<[], number>('SELECT rid FROM memories ORDER BY rid LIMIT 2')
    .pluck()
    .all() as number[];
  const values = columns.map((column) => {
    if (column === 'rid') return rids[0];
    if (column === 'other_rid') return rids[1];
    if (column === 'subscription_id') return db.prepare('SELECT id FROM subscriptions LIMIT 1').pluck().get();
    if (column === 'role') return 'searched';
    if (column === 'delivery_status') return 'pending';
    const type = types.find(({ name }) => name === column)!.type;
    if (type === 'BLOB') return Buffer.from([0, 1, 254, 255]);
    if (type === 'REAL') return 0.1 + 0.2;
    return type === 'INTEGER' ? 1 : 'an "ä" \u{1F600} \\ text';
  });
  db.prepare(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  ).run(values);
}

/** The kept database, with a row in each table. */
function fullDatabase(folder: string): string {
  const path = keptDatabase(folder);
  openFormat(path, 'ash', LATER_MS, START.freshEpoch).store.close();
  const db = openSqlite(path);
  for (const shape of SHAPES) fill(db, shape);
  db.close();
  return path;
}

const read = (path: string) => {
  const db = openSqlite(path, { readonly: true });
  try {
    return contentOf(db);
  } finally {
    db.close();
  }
};

/** What is wrong with a file. */
function audited(path: string): string[] {
  const db = openSqlite(path);
  try {
    return auditDatabase(db, [], 'hostile');
  } finally {
    db.close();
  }
}

describe('migrate', { skip: withoutServer, timeout: 600_000 }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  const migrate = async (home: string, ...words: string[]) => {
    const done = await run(home, ['migrate', '--json', ...words]);
    return { ...done, answer: JSON.parse(done.code === 0 ? done.out : done.err) as Answer };
  };
  const onServer = <T>(url: string, look: (db: PostgresConnection) => T): T => {
    const db = new PostgresConnection({ url, statementTimeoutMs: 10_000, readOnly: true });
    try {
      return look(db);
    } finally {
      db.close();
    }
  };

  it('copies every table to a server and back, and the node goes on', async () => {
    const home = temporaryFolder('migrate');
    const path = fullDatabase(home);
    const url = await server.database();
    const content = read(path);
    for (const { table } of SHAPES) assert.notDeepEqual(content[table], [], `${table} has a row`);
    const dry = await migrate(home, '--from', path, '--to', url, '--dry-run');
    assert.deepEqual([dry.code, dry.answer.verified], [0, false], dry.err);
    const there = await migrate(home, '--from', `sqlite://${path}`, '--to', url, '--batch', '7');
    assert.equal(there.code, 0, there.err);
    assert.deepEqual([there.answer.verified, there.answer.resumed], [true, false]);
    assert.deepEqual(there.answer.rows, dry.answer.rows);
    assert.equal(there.answer.memories_written, there.answer.memories_read);
    onServer(url, (db) => {
      assert.deepEqual(contentOf(db), content);
      const unindexed =
        'SELECT count(*) FROM memories WHERE rid NOT IN (SELECT id FROM memories_fts_docsize)';
      assert.equal(db.prepare(unindexed).pluck().get(), 0);
      const last = openSqlite(path, { readonly: true });
      assert.equal(db.lastNumberOf('memories', 'rid'), last.lastNumberOf('memories'));
      last.close();
    });
    const back = join(home, 'back.db');
    const returned = await migrate(home, '--from', url, '--to', `sqlite://${back}`);
    assert.equal(returned.code, 0, returned.err);
    assert.equal(returned.answer.digest, there.answer.digest);
    assert.deepEqual(read(back), content);
    assert.deepEqual(readFileSync(auditHeadPath(back)), readFileSync(auditHeadPath(path)));
    assert.ok(!existsSync(`${back}.migrating`));
    const taken = await migrate(home, '--from', url, '--to', back);
    assert.equal(taken.answer.code, 'CONFLICT');
  });

  it('leaves a database that shows and means the same, and is written on', async () => {
    const home = temporaryFolder('migrate');
    const path = keptDatabase(home);
    const one = openFormat(path, 'ash', LATER_MS, START.freshEpoch);
    const shown = await databaseFacts(one.store, one.db as SqliteConnection);
    await one.store.close();
    const url = await server.database();
    assert.equal((await migrate(home, '--from', path, '--to', url)).code, 0);
    // The node of the database opens it, and no other one.
    openPostgres({ url, statementTimeoutMs: 10_000 }, START).close();
    const other = { ...START, identity: { peerId: 'peer-0000000000000001' } };
    assert.throws(() => openPostgres({ url, statementTimeoutMs: 10_000 }, other), /belongs to the node/);
    const back = join(home, 'back.db');
    assert.equal((await migrate(home, '--from', url, '--to', back)).code, 0);
    const two = openFormat(back, 'ash', LATER_MS, START.freshEpoch);
    assert.deepEqual(await databaseFacts(two.store, two.db as SqliteConnection), shown);
    assert.deepEqual(two.audit(), []);
    await two.store.close();
    assert.deepEqual(audited(back), audited(path));
  });

  for (const way of ['to a server', 'to a file'] as const)
    it(`goes on after a kill, ${way}`, async () => {
      const home = temporaryFolder('migrate');
      const path = fullDatabase(home);
      const url = await server.database();
      if (way === 'to a file') assert.equal((await migrate(home, '--from', path, '--to', url)).code, 0);
      const target = way === 'to a file' ? join(home, 'copy.db') : url;
      const words = ['--from', way === 'to a file' ? url : path, '--to', target, '--batch', '1'];
      const child = spawn(process.execPath, [MAIN, 'migrate', ...words], {
        env: cleanEnvironment(home),
        stdio: 'ignore',
      });
      const ended = event('the first run is killed', child, 'exit');
      const copied = (): number => {
        try {
          if (way === 'to a server')
            return onServer(target, (db) =>
              Number(db.prepare('SELECT count(*) FROM memories').pluck().get()),
            );
          const db = openSqlite(`${target}.migrating`, { readonly: true });
          try {
            return Number(db.prepare('SELECT count(*) FROM memories').pluck().get());
          } finally {
            db.close();
          }
        } catch {
          return 0;
        }
      };
      await until('memories are copied', () => child.exitCode !== null || copied() > 2);
      child.kill('SIGKILL');
      await ended;
      assert.equal(child.signalCode, 'SIGKILL', 'it was killed in the middle');
      const before = copied();
      if (way === 'to a server') {
        const started = () => openPostgres({ url: target, statementTimeoutMs: 10_000 }, START);
        assert.throws(started, /unfinished copy/);
      } else assert.ok(!existsSync(target));
      const other = await migrate(home, '--from', keptDatabase(temporaryFolder('other')), '--to', target);
      assert.equal(other.answer.code, 'CONFLICT');
      const second = await migrate(home, ...words);
      assert.equal(second.code, 0, second.err);
      assert.deepEqual([second.answer.resumed, second.answer.verified], [true, true]);
      assert.ok(
        before > 0 && second.answer.memories_written < second.answer.memories_read,
        'it went on where it was',
      );
      const content = way === 'to a server' ? onServer(target, contentOf) : read(target);
      assert.deepEqual(content, read(path));
    });

  it('is refused beside a running node, into a database with rows, and for what is none', async () => {
    const home = temporaryFolder('migrate');
    const path = keptDatabase(home);
    const url = await server.database();
    const held = openSqlite(path);
    held.exec('BEGIN IMMEDIATE');
    assert.equal((await migrate(home, '--from', path, '--to', url)).answer.code, 'DATABASE_IN_USE');
    held.exec('ROLLBACK');
    held.close();
    assert.equal((await migrate(home, '--from', path, '--to', url)).code, 0);
    assert.equal((await migrate(home, '--from', path, '--to', url)).answer.code, 'CONFLICT');
    const name = url.slice(url.lastIndexOf('/') + 1);
    const owner = `INSERT INTO database_owner VALUES (1, 'daemon:other', 'daemon', 1, 0)`;
    await server.ask(name, owner);
    const serving = new PostgresConnection({ url, statementTimeoutMs: 10_000, readOnly: false });
    serving.prepare(`SELECT pg_advisory_lock(${LOCKS}, 7)`).get();
    const beside = await migrate(home, '--from', url, '--to', join(home, 'new.db'));
    serving.close();
    assert.equal(beside.answer.code, 'DATABASE_IN_USE', beside.err);
    assert.match(beside.answer.error!, /daemon:other/);
    const missing = await migrate(home, '--from', join(home, 'none.db'), '--to', url);
    assert.equal(missing.answer.code, 'NOT_FOUND');
    for (const words of [[], ['--from', 'mysql://x/y', '--to', url], ['--from', path, '--to', path]])
      assert.equal((await migrate(home, ...words)).answer.code, 'VALIDATION_FAILED', words.join(' '));
    assert.equal(
      (await migrate(home, '--from', path, '--to', url, '--batch', '0')).answer.code,
      'VALIDATION_FAILED',
    );
    const unreachable = await migrate(home, '--from', path, '--to', 'postgres://u:s3cret@127.0.0.1:1/none');
    assert.equal(unreachable.answer.code, 'UNAVAILABLE');
    assert.doesNotMatch(unreachable.err, /s3cret/);
  });
});
