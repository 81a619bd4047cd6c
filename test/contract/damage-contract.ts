import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repairSuspects } from '../../actors/maintenance/suspects.js';
import { detailsOf } from '../../protocol/base/result.js';
import type { Query } from '../../protocol/release.js';
import { DamageWatch } from '../../storage/damage-watch.js';
import type { Store } from '../../storage/port.js';
import type { Connection } from '../../storage/sql/connection.js';
import { aMemory, anyMemory, OPERATOR, recalling, storing, updating } from '../support/memories.js';
import { ofMemory } from '../support/subjects.js';
import { until } from '../support/wait.js';
import { auditStore, type StoreUnderTest } from './store-contract.js';

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
    it('fails a query that asks for it, with a code that names it', async () => {
      const { under, id, query, store } = await damaged('get-memory');
      const answer = await store.query(query);
      assert.ok(!answer.ok);
      assert.deepEqual(
        [answer.error.code, answer.error.details],
        ['DATA_DAMAGED', { damaged_kind: 'memory', damaged_id: id }],
      );
      await under.close();
    });

    for (const { kind } of showing('').slice(1)) {
      it(`is left out by ${kind}, which names it and shows the others`, async () => {
        const { under, id, query, store } = await damaged(kind);
        const answer = await store.query(query);
        assert.ok(answer.ok, JSON.stringify(answer));
        assert.deepEqual((answer.value as { damaged?: unknown }).damaged, [id]);
        const text = JSON.stringify(answer.value);
        assert.match(text, /another ferry/);
        assert.doesNotMatch(text, /the ferry leaves at noon/);
        await under.close();
      });
    }

    for (const { kind } of showing('')) {
      it(`is marked when ${kind} meets it, repaired from the log, and answered again`, async () => {
        const { under, id, query, store, told } = await damaged(kind);
        await store.query(query);
        await store.query(query);
        await until('the damage is told', () => told.length > 0);
        const marked = await suspects(store);
        assert.deepEqual(
          marked.map(({ subject }) => subject),
          [ofMemory(id)],
        );
        assert.equal(told.length, 1, 'it is marked once');
        const done = await repaired(under, marked);
        assert.deepEqual([done.repaired.map(({ subject }) => subject), done.left], [[id], []]);
        const answer = await store.query(query);
        assert.ok(answer.ok, JSON.stringify(answer));
        assert.match(JSON.stringify(answer.value), /the ferry leaves at noon/);
        assert.equal((answer.value as { damaged?: unknown }).damaged, undefined);
        assert.deepEqual(await suspects(store), []);
        await under.close();
        assert.deepEqual(auditStore(under), []);
      });
    }

    it('fails a command that builds on it, which then succeeds after the repair', async () => {
      const { under, id, store } = await damaged('get-memory');
      const refused = await store.execute(updating(id, { priority: 9 }));
      assert.ok(!refused.ok && refused.error.code === 'DATA_DAMAGED');
      assert.equal(detailsOf(refused.error, 'DATA_DAMAGED')?.damaged_id, id);
      const marked = await suspects(store);
      assert.deepEqual(marked, [{ subject: ofMemory(id), since: now }]);
      await repaired(under, marked);
      const done = await store.execute(updating(id, { priority: 9 }));
      assert.ok(done.ok, JSON.stringify(done));
      assert.equal(done.value.memory.content, 'the ferry leaves at noon');
      await under.close();
      assert.deepEqual(auditStore(under), []);
    });

    it('stays suspect where the log does not know it either', async () => {
      const { under, id, query, store, told, onDisk } = await damaged('get-memory');
      onDisk((db) => db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(id));
      await store.query(query);
      await until('the damage is told', () => told.length > 0);
      const done = await repaired(under, await suspects(store));
      assert.deepEqual([done.repaired, done.left], [[], [ofMemory(id)]]);
      const again = await store.query(query);
      assert.ok(!again.ok && again.error.code === 'DATA_DAMAGED');
      assert.equal((await suspects(store)).length, 1);
      await under.close();
    });

    async function suspects(store: Store) {
      const listed = await store.query({ kind: 'list-suspects', limit: 10 });
      assert.ok(listed.ok);
      return listed.value.suspects;
    }

    async function repaired({ store }: StoreUnderTest, marked: Awaited<ReturnType<typeof suspects>>) {
      const done = await repairSuspects(
        {
          store,
          verifier: { ready: () => Promise.resolve(), singles: () => [] },
          askBack: () => Promise.resolve([]),
        },
        marked,
      );
      assert.ok(done.ok, JSON.stringify(done));
      return done.value;
    }

    async function damaged(kind: Query['kind']) {
      const under = await open();
      under.setNow(NOW_MS);
      const memory = aMemory({ title: 'harbour', content: 'the ferry leaves at noon' });
      for (const each of [memory, aMemory({ title: 'ferry', content: 'another ferry' })]) {
        assert.ok((await under.store.execute(storing(each))).ok);
      }
      const onDisk = (change: (db: Connection) => void) => {
        const db = under.connect();
        change(db);
        db.close();
      };
      onDisk((db) => db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(memory.id));
      const told: string[] = [];
      const clock = { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS };
      const store = new DamageWatch(under.store, clock, {
        suspected: () => told.push('suspected'),
        refusing: () => {},
        corrupt: (message) => told.push(message),
      });
      const query = showing(memory.id).find((each) => each.kind === kind)!;
      return { under, id: memory.id, query, store, told, onDisk };
    }
  });
}
