import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import type { Store } from '../../storage/port.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { auditDatabase } from '../support/log-audit.js';
import { storing, UNLIMITED } from '../support/memories.js';
import { PostgresServer, withoutOwnServer } from '../support/postgres-server.js';
import { event, until } from '../support/wait.js';

const PEER = 'peer-0000000000000001';

/** A process that runs statements one after another, beside this one, which waits for the server meanwhile. */
async function beside(url: string, statements: readonly string[]): Promise<() => Promise<void>> {
  const program = `import pg from 'pg';
    const client = new pg.Client({ connectionString: ${JSON.stringify(url)} });
    await client.connect();
    console.log('ready');
    for (const sql of ${JSON.stringify(statements)}) await client.query(sql);
    await client.end();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = event('the statements have run', child, 'exit');
  await event('it is connected', child.stdout, 'data');
  return async () => {
    assert.deepEqual((await ended)[0], 0);
  };
}

/** Waits until a session of the database waits for a replica, which it does after its commit. */
const WAIT_FOR_COMMIT = `DO $$ BEGIN
  WHILE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep') LOOP
    PERFORM pg_sleep(0.01);
    PERFORM pg_stat_clear_snapshot();
  END LOOP;
END $$`;
const END_COMMITTED = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

describe('faults of the server', { skip: withoutOwnServer }, () => {
  let server: PostgresServer;
  let url: string;
  let database: string;
  let store: Store;
  const bugs: unknown[] = [];

  before(async () => {
    server = await PostgresServer.startOwn();
  });
  after(() => server.stop());

  beforeEach(async () => {
    url = await server.database();
    database = new URL(url).pathname.slice(1);
    const start = { identity: { peerId: PEER }, nowMs: 1, freshEpoch: '00112233aabbccdd' };
    store = new InlineStore({
      db: openPostgres({ url, statementTimeoutMs: 30_000 }, start),
      clock: systemClock,
      scheduler: systemScheduler,
      random: systemRandom,
      crypto: systemCrypto,
      reportBug: (error) => bugs.push(error),
      signer: null,
      policy: UNLIMITED,
      shared: false,
    });
  });

  afterEach(async () => {
    await store.close();
    const db = new PostgresConnection({ url, statementTimeoutMs: 30_000, readOnly: true });
    assert.deepEqual(auditDatabase(db), []);
    db.close();
    assert.deepEqual(bugs, []);
  });

  const put = (title: string) => store.execute(storing({ title }));
  const stored = async () =>
    (await server.ask(database, 'SELECT title FROM memories ORDER BY title')).map(({ title }) => title);

  it('answers that nothing was changed when a session ends at its commit', async () => {
    assert.ok((await put('before')).ok);
    await server.ask(
      database,
      `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER dies AFTER INSERT ON memories DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()`,
    );
    const answer = await put('lost');
    assert.equal(answer.ok ? 'ok' : answer.error.code, 'UNAVAILABLE');
    await server.ask(database, 'DROP TRIGGER dies ON memories');
    assert.deepEqual(await stored(), ['before']);
    assert.ok((await put('after')).ok);
    assert.deepEqual(await stored(), ['after', 'before']);
  });

  it('answers that a commit was done whose answer was lost', async () => {
    assert.ok((await put('before')).ok);
    await server.ask('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await server.ask('postgres', 'SELECT pg_reload_conf()');
    const done = await beside(url, [
      WAIT_FOR_COMMIT,
      'ALTER SYSTEM RESET synchronous_standby_names',
      END_COMMITTED,
      'SELECT pg_reload_conf()',
    ]);
    const answer = await put('committed');
    await done();
    assert.ok(answer.ok, JSON.stringify(answer));
    assert.deepEqual(await stored(), ['before', 'committed']);
    assert.ok((await put('next')).ok);
  });

  it('answers at once while the server is gone, and goes on when it is back', async () => {
    assert.ok((await put('before')).ok);
    await server.kill();
    const beganMs = performance.now();
    for (let tries = 0; tries < 5; tries += 1) {
      const write = await put('lost');
      assert.equal(write.ok ? 'ok' : write.error.code, 'UNAVAILABLE');
      const read = await store.query({ kind: 'log-position' });
      assert.equal(read.ok ? 'ok' : read.error.code, 'UNAVAILABLE');
    }
    assert.ok(performance.now() - beganMs < 2000, `${performance.now() - beganMs} ms`);
    await server.restart();
    assert.ok((await put('after')).ok);
    assert.deepEqual(await stored(), ['after', 'before']);
  });

  it('waits seconds for a server that is silent, and then nobody until it speaks again', async () => {
    assert.ok((await put('before')).ok);
    server.pause();
    try {
      let beganMs = performance.now();
      const first = await put('silent');
      assert.equal(first.ok ? 'ok' : first.error.code, 'UNAVAILABLE');
      assert.ok(performance.now() - beganMs < 12_000, `${performance.now() - beganMs} ms`);
      await put('silent');
      beganMs = performance.now();
      for (let tries = 0; tries < 20; tries += 1) await put('silent');
      assert.ok(performance.now() - beganMs < 1000, `${performance.now() - beganMs} ms`);
    } finally {
      server.resume();
    }
    await until('it takes writes again', async () => (await put('after')).ok);
    assert.ok((await stored()).includes('after'));
  });
});
