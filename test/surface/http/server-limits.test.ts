import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import pg from 'pg';
import { WRITER_LOCK } from '../../../storage/postgres/writer-statements.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';
import { ServerDaemons } from '../../support/server-daemons.js';
import { runAlone } from '../cli/cli-process.js';

/** Of a statement on the server. */
const TIMEOUT_SECS = 2;
/** A call that waits for a statement ends within this time, also on a busy machine. */
const WITHIN_MS = 8000;

describe('the time of a statement on the server', { skip: withoutServer }, () => {
  let server: PostgresServer;
  let daemons: ServerDaemons;
  let base: string;
  let other: pg.Client;
  before(async () => {
    server = await PostgresServer.start();
    const limits = { SVC_POSTGRES_STATEMENT_TIMEOUT_SECS: String(TIMEOUT_SECS) };
    daemons = new ServerDaemons(server, await server.database(), limits);
    ({ base } = await daemons.start('a'));
    other = new pg.Client({ connectionString: daemons.url });
    await other.connect();
    assert.equal((await store('before')).status, 201);
  });
  after(async () => {
    await other.end();
    await daemons.stop();
    await server.stop();
  });
  afterEach(async () => {
    assert.equal((await store(`after ${performance.now()}`)).status, 201, 'it goes on');
  });

  const send = async (method: string, path: string, body?: unknown) => {
    const beganMs = performance.now();
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, json, tookMs: performance.now() - beganMs };
  };
  const store = (title: string) => send('POST', '/memories', { title, content: 'a text' });
  const titles = async () =>
    (await daemons.ask("SELECT title FROM memories WHERE title LIKE 'slow%'")).map(({ title }) => title);

  it('ends a write that takes longer, which changes nothing', async () => {
    await daemons.ask(
      `CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
       CREATE TRIGGER rests BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION rest()`,
    );
    const slow = await store('slow by itself');
    await daemons.ask('DROP TRIGGER rests ON memories');
    assert.deepEqual([slow.status, slow.json['code']], [500, 'DATABASE_ERROR'], JSON.stringify(slow.json));
    assert.match(String(slow.json['error']), /took too long; nothing was changed/);
    assert.ok(slow.tookMs < WITHIN_MS, `${slow.tookMs} ms`);
    assert.deepEqual(await titles(), []);
  });

  it('ends a read that waits for others', async () => {
    await other.query('BEGIN; LOCK TABLE memories IN ACCESS EXCLUSIVE MODE');
    const slow = await send('GET', '/memories');
    await other.query('ROLLBACK');
    assert.deepEqual([slow.status, slow.json['code']], [503, 'OVERLOADED'], JSON.stringify(slow.json));
    assert.ok(slow.tookMs < WITHIN_MS, `${slow.tookMs} ms`);
  });

  it('ends a write that waits for other writers', async () => {
    await other.query(`SELECT pg_advisory_lock(${WRITER_LOCK})`);
    const slow = await store('slow by others');
    await other.query('SELECT pg_advisory_unlock_all()');
    assert.deepEqual([slow.status, slow.json['code']], [503, 'OVERLOADED'], JSON.stringify(slow.json));
    assert.ok(slow.tookMs < WITHIN_MS, `${slow.tookMs} ms`);
    assert.deepEqual(await titles(), []);
  });
});

describe('a daemon that starts while its server is gone', { skip: withoutServer }, () => {
  it('ends with a code of its own and the reason, and starts when the server is back', async () => {
    const server = await PostgresServer.startOwn();
    const daemons = new ServerDaemons(server, await server.database());
    try {
      await server.kill();
      const home = temporaryFolder('start');
      const env = daemons.environment(home);
      const url = daemons.url.replace('//postgres@', '//postgres:s3cret@');
      const beganMs = performance.now();
      const refused = await runAlone(home, ['serve', '--port', String(await freePort()), '--json'], {
        env: { ...env, SVC_STORE_URL: url },
      });
      assert.equal(refused.code, 75, refused.err);
      assert.match(refused.err, /the database server cannot be reached/);
      assert.doesNotMatch(refused.out + refused.err, /s3cret/);
      assert.ok(performance.now() - beganMs < WITHIN_MS * 2);
      await server.restart();
      const { base } = await daemons.start('a');
      assert.equal((await fetch(`${base}/health`)).status, 200);
    } finally {
      await daemons.stop();
      await server.stop();
    }
  });
});
