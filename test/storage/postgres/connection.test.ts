import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Bridge } from '../../../storage/postgres/bridge.js';
import type { Run } from '../../../storage/postgres/messages.js';
import { openPostgres } from '../../../storage/postgres/open-postgres.js';
import type { PostgresConnection } from '../../../storage/postgres/postgres-connection.js';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';

const NOTED = 'INSERT INTO integrity_notes (name, at, facts) VALUES (?, ?, ?)';
const COUNT = 'SELECT count(*) FROM integrity_notes';

describe('a connection to a server', { skip: withoutServer }, () => {
  let server: PostgresServer;
  let url: string;

  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  describe('asks', () => {
    let db: PostgresConnection;
    beforeEach(async () => {
      url = await server.database();
      const start = {
        identity: { peerId: 'peer-0000000000000001' },
        nowMs: 1,
        freshEpoch: '00112233aabbccdd',
      };
      db = openPostgres({ url, statementTimeoutMs: 30_000 }, start);
    });
    afterEach(() => db.close());

    const note = (name: string) => db.prepare(NOTED).run(name, '2026-01-01T00:00:00Z', '{}');
    const count = () => db.prepare<[], number>(COUNT).pluck().get();

    it('answers the columns of a statement that failed when it first ran', () => {
      note('held');
      const insert = db.prepare<string[], { name: string }>(`${NOTED} RETURNING name`);
      assert.throws(() => insert.get('held', '{}', ''), /duplicate key/);
      assert.deepEqual(insert.get('free', '{}', ''), { name: 'free' });
    });

    it('rolls back what is queued, though it would fail', () => {
      note('held');
      db.beginWrite();
      note('first');
      assert.equal(count(), 2);
      note('held');
      db.exec('ROLLBACK');
      assert.equal(db.inTransaction, false);
      assert.equal(count(), 1);
    });

    it('knows statements later that a rollback kept from being sent', () => {
      db.beginWrite();
      note('never');
      db.exec('ROLLBACK');
      note('sent');
      assert.equal(count(), 1);
    });

    it('keeps an answer inside a transaction that writes until one of its tables changes', () => {
      db.beginWrite();
      assert.equal(count(), 0);
      note('one');
      assert.equal(count(), 1);
      db.exec('SAVEPOINT part');
      note('two');
      assert.equal(count(), 2);
      db.exec('ROLLBACK TO part');
      assert.equal(count(), 1);
      db.exec('COMMIT');
      assert.equal(count(), 1);
    });

    it('sees in its next transaction what another connection wrote', async () => {
      for (let before = 0; before < 4; before += 1) {
        await server.ask(
          new URL(url).pathname.slice(1),
          `INSERT INTO integrity_notes (name, at, facts) VALUES ('other ${before}', '{}', '')`,
        );
        db.beginWrite();
        assert.equal(count(), before + 1);
        db.exec('COMMIT');
      }
    });

    it('reads an iteration in parts, several within each other, and stops where it is left', () => {
      const numbers = db.prepare<[number], number>('SELECT value FROM numbers(?) AS value').pluck();
      db.script(
        'CREATE FUNCTION numbers(up_to text) RETURNS SETOF integer LANGUAGE sql AS $$ SELECT generate_series(1, up_to::integer) $$',
      );
      let sum = 0;
      for (const outer of numbers.iterate(3000)) {
        if (outer % 1000 !== 0) continue;
        for (const inner of numbers.iterate(outer)) {
          if (inner > 600) break;
          sum += inner;
        }
      }
      assert.equal(sum, 3 * ((600 * 601) / 2));
      assert.equal(db.inTransaction, false);
      note('after');
      assert.equal(count(), 1);
    });

    it('ends the transaction of an iteration that failed', () => {
      const divided = db
        .prepare<[], number>('SELECT 1 / (300 - value) FROM generate_series(1, 400) AS value')
        .pluck();
      assert.throws(() => [...divided.iterate()], /division by zero/);
      assert.equal(db.inTransaction, false);
      note('after');
      assert.equal(count(), 1);
    });
  });

  describe('gives up a question whose answer does not come', () => {
    const texts: string[] = [];
    let bridge: Bridge;
    beforeEach(async () => {
      url = await server.database();
      texts.length = 0;
      bridge = new Bridge({ url, statementTimeoutMs: 0 }, false, 2000);
      assert.equal(ask('CREATE TABLE kept (name text)').error, undefined);
    });
    afterEach(() => bridge.close());

    const run = (text: string): Run => {
      texts.push(text);
      return { statement: texts.length, text, values: [], wanted: true };
    };
    const ask = (...asked: string[]) => bridge.ask({ runs: asked.map(run), continues: false });

    it('and takes its late answer for no other one', () => {
      assert.equal(ask("SELECT 'first' FROM pg_sleep(4)").error?.code, 'CONNECTION');
      for (let number = 0; number < 3; number += 1) {
        const { rows, error } = ask(`SELECT 'next ${number}'`);
        assert.deepEqual(error, undefined);
        assert.deepEqual(rows, [[[`next ${number}`]]]);
      }
    });

    it('and commits nothing of its transaction with a later one', async () => {
      ask('BEGIN', "INSERT INTO kept VALUES ('given up')", 'SELECT pg_sleep(4)');
      const { error } = ask('BEGIN', "INSERT INTO kept VALUES ('next')", 'COMMIT');
      assert.equal(error, undefined);
      const rows = await server.ask(new URL(url).pathname.slice(1), 'SELECT name FROM kept');
      assert.deepEqual(rows, [{ name: 'next' }]);
    });
  });
});
