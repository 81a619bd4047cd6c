import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { systemCrypto, systemScheduler } from '../../../node/seams.js';
import { openPostgres } from '../../../storage/postgres/open-postgres.js';
import type { PostgresConnection } from '../../../storage/postgres/postgres-connection.js';
import { ServerPresence } from '../../../storage/postgres/server-presence.js';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';
import { until } from '../../support/wait.js';

describe('commits that a process of the database hears of', { skip: withoutServer }, () => {
  let server: PostgresServer;
  let database: string;
  let db: PostgresConnection;
  let presence: ServerPresence;
  let nowMs: number;

  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());
  beforeEach(async () => {
    const url = await server.database();
    database = new URL(url).pathname.slice(1);
    const start = { identity: { peerId: 'peer-0000000000000001' }, nowMs: 1, freshEpoch: '00112233aabbccdd' };
    db = openPostgres({ url, statementTimeoutMs: 30_000 }, start);
    nowMs = 5000;
    presence = new ServerPresence({
      ...{ url, holder: 'daemon:1:one', crypto: systemCrypto, scheduler: systemScheduler },
      clock: { monotonicMs: () => nowMs },
    });
  });
  afterEach(async () => {
    await presence.close();
    db.close();
  });

  const commit = () => {
    db.beginWrite();
    db.exec('COMMIT');
  };

  it('says that something may have changed after each commit of a writer, once to each reader', async () => {
    const readers = [presence.reader(), presence.reader()] as const;
    assert.ok(await presence.appear());
    for (const mayHaveChanged of readers) {
      assert.equal(mayHaveChanged(), true);
      assert.equal(mayHaveChanged(), false);
    }
    for (let number = 0; number < 3; number += 1) {
      commit();
      for (const mayHaveChanged of readers) {
        await until('the commit is heard', mayHaveChanged);
        assert.equal(mayHaveChanged(), false);
      }
    }
    db.beginWrite();
    db.exec('ROLLBACK');
    commit();
    await until('the commit is heard', readers[0]);
    assert.equal(readers[0](), false);
  });

  it('says so now and then where no commit was heard', async () => {
    const mayHaveChanged = presence.reader();
    assert.ok(await presence.appear());
    assert.equal(mayHaveChanged(), true);
    nowMs += 999;
    assert.equal(mayHaveChanged(), false);
    nowMs += 1;
    assert.equal(mayHaveChanged(), true);
    assert.equal(mayHaveChanged(), false);
  });

  it('says so each time while it has no session that hears', async () => {
    const mayHaveChanged = presence.reader();
    const says = () => [mayHaveChanged(), mayHaveChanged(), mayHaveChanged()];
    assert.deepEqual(says(), [true, true, true]);
    assert.ok(await presence.appear());
    assert.deepEqual(says(), [true, false, false]);
    await server.ask(
      database,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mnemesh presence'",
    );
    await until('the session has ended', () => presence.seen() === null);
    assert.deepEqual(says(), [true, true, true]);
    commit();
    assert.ok(await presence.appear());
    assert.deepEqual(says(), [true, false, false]);
  });
});
