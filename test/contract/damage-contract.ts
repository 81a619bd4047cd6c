import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { Query } from '../../protocol/queries.js';
import type { Log } from '../../protocol/seams.js';
import { HealingStore } from '../../storage/healing-store.js';
import { auditLog } from '../support/log-audit.js';
import { aMemory, anyMemory, OPERATOR, recalling, storing } from '../support/memories.js';
import type { StoreUnderTest } from './store-contract.js';

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const now = new Date(NOW_MS).toISOString();

/** Queries that show a memory. */
const showing = (id: string): readonly Query[] => [
  { kind: 'get-memory', id, viewer: OPERATOR, now },
  { kind: 'list-memories', filter: anyMemory(now), family: null },
  { kind: 'search-memories', query: 'ferry', filter: anyMemory(now), sourceUri: null },
  { kind: 'recall-memories', request: recalling('ferry', now) },
  { kind: 'export-memories', viewer: OPERATOR, now, after: null, limit: 100, bytesMax: 1_000_000 },
];

/** What every store says of a row that cannot be read, and what becomes of it. */
export function damageContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`a row that cannot be read: ${name}`, () => {
    for (const { kind } of showing('')) {
      it(`is named by ${kind}, made anew from the log, and answered`, async () => {
        const { under, id, query, store, told } = await damaged(kind);
        const bare = await under.store.query(query);
        assert.ok(!bare.ok);
        assert.deepEqual([bare.error.code, bare.error.details], ['INTERNAL', { damaged_id: id }]);
        const answer = await store.query(query);
        assert.ok(answer.ok, JSON.stringify(answer));
        assert.match(JSON.stringify(answer.value), /the ferry leaves at noon/);
        assert.deepEqual(told, [id]);
        assert.deepEqual(await under.store.query(query), answer, 'it stays as it was made');
        await under.close();
        assert.deepEqual(auditLog(under.path), []);
      });
    }

    it('fails the query where the log does not know it either, once', async () => {
      const { under, id, query, store, told, onDisk } = await damaged('list-memories');
      onDisk((db) => db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(id));
      const answer = await store.query(query);
      assert.ok(!answer.ok && answer.error.code === 'INTERNAL');
      assert.deepEqual(told, [id]);
      assert.deepEqual(await store.query(query), answer);
      assert.deepEqual(told, [id], 'nor is it tried again');
      await under.close();
    });

    async function damaged(kind: Query['kind']) {
      const under = await open();
      under.setNow(NOW_MS);
      const memory = aMemory({ title: 'harbour', content: 'the ferry leaves at noon' });
      for (const each of [memory, aMemory({ title: 'ferry', content: 'another' })]) {
        assert.ok((await under.store.execute(storing(each))).ok);
      }
      const onDisk = (change: (db: Database.Database) => void) => {
        const db = new Database(under.path);
        change(db);
        db.close();
      };
      onDisk((db) => db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(memory.id));
      const told: unknown[] = [];
      const log: Log = {
        debug() {},
        info() {},
        warn() {},
        error: (facts) => told.push((facts as { memory: string }).memory),
      };
      const query = showing(memory.id).find((each) => each.kind === kind)!;
      return { under, id: memory.id, query, store: new HealingStore(under.store, log), told, onDisk };
    }
  });
}
