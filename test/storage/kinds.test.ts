import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerOf } from '../../protocol/release.js';
import type { ExportRecords } from '../../protocol/transfer/queries.js';
import { type Replica, replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { MORE_KINDS } from '../support/throwaway-kinds.js';
import {
  alike,
  ask,
  CASES,
  type Case,
  HAVE,
  type Page,
  repair,
  rowOf,
  START_MS,
  suspects,
  sync,
  tombstones,
} from './kind-cases.js';

assert.deepEqual(
  CASES.map(({ kind }) => kind.name),
  MORE_KINDS.all.map(({ name }) => name),
  'every kind has a case',
);

async function two(each: Case) {
  const [a, b] = ['a', 'b'].map((name) => replica(name, START_MS, undefined, MORE_KINDS)) as [
    Replica,
    Replica,
  ];
  await each.prepare(a);
  await each.put(a, 1);
  await sync(a, b);
  return { a, b };
}

for (const each of CASES) {
  const { kind, id, namespace, table } = each;
  const subject = { kind: kind.name, id };
  const where =
    table === 'records' ? `kind = '${kind.name}'` : table === 'memories' ? `id = '${id}'` : 'TRUE';
  const count = ({ db }: Replica) => db.prepare(`SELECT count(*) FROM ${table} WHERE ${where}`).pluck().get();

  describe(`a subject of kind "${kind.name}"`, () => {
    it('stands on another node as here, and follows its changes', async () => {
      const { a, b } = await two(each);
      await alike(a, b);
      assert.deepEqual([count(a), count(b)], [1, 1]);
      const { found, looked } = await suspects(b, kind.name);
      assert.deepEqual([found, looked > 0], [[], true]);
      a.nowMs += 1000;
      if (kind.name === 'link') await each.drop(a);
      await each.put(a, 2);
      await sync(a, b);
      await alike(a, b);
      const operations = await a.read();
      assert.deepEqual(await b.read(), operations);
      const digests = await ask<{ digests: Record<string, object> }>(b, { kind: 'read-digests' });
      assert.deepEqual(Object.keys(digests.digests[kind.name]!), [namespace]);
    });

    for (const [column, value] of Object.entries(each.damages)) {
      it(`is found by the scrub and made again from the log: ${column}`, async () => {
        const { a, b } = await two(each);
        const right = await b.state();
        const sql = `UPDATE ${table} SET ${column} = ${value} WHERE ${where}`;
        assert.equal(b.db.prepare(sql).run().changes, 1);
        assert.deepEqual((await suspects(b, kind.name)).found, [subject]);
        const recount = [
          { kind: kind.name, namespace },
          { kind: kind.name, namespace: 'nowhere' },
        ];
        const done = await repair(b, { subjects: [subject], recount });
        assert.deepEqual(done.repaired, [
          { ...{ kind: kind.name, subject: id }, namespace, problem: 'damaged' },
        ]);
        assert.deepEqual([done.missing, done.unreadable], [[], []]);
        assert.deepEqual(await b.state(), right);
        await alike(a, b);
        assert.deepEqual((await suspects(b, kind.name)).found, []);
        const again = await repair(b, { subjects: [subject], recount });
        assert.deepEqual([again.repaired, again.recounted, again.sound], [[], [], 1]);
      });
    }

    it('comes back from the log where its row is gone', async () => {
      const { a, b } = await two(each);
      b.db.prepare(`DELETE FROM ${table} WHERE ${where}`).run();
      const log = await ask<Page>(b, { kind: 'scrub-log', after: 0, limit: 100 });
      assert.deepEqual(log.suspects, [subject]);
      const done = await repair(b, { subjects: [subject], recount: [{ kind: kind.name, namespace }] });
      assert.equal(done.repaired[0]!.problem, 'missing');
      await alike(a, b);
    });

    it('is mended by the scrub of all kinds', async () => {
      const { a, b } = await two(each);
      b.db.prepare(`UPDATE ${table} SET digest = NULL WHERE ${where}`).run();
      const { repaired, complete } = await scrubbed(b);
      assert.deepEqual([repaired.map((row) => [row.kind, row.subject]), complete], [[[kind.name, id]], true]);
      await alike(a, b);
    });

    if (kind.lasting) {
      it('stays on other nodes where a node drops it', async () => {
        const { a, b } = await two(each);
        await each.drop(a);
        const { parked } = await b.apply(await a.read(HAVE(b)));
        assert.deepEqual([parked.map(({ reason }) => reason), count(b)], [['not_home'], 1]);
        const done = await repair(b, { subjects: [subject] });
        assert.deepEqual([done.repaired, count(b)], [[], 1]);
      });
    } else {
      it('is dropped everywhere, leaves a tombstone that is kept whole, and comes back', async () => {
        const { a, b } = await two(each);
        a.nowMs += 1000;
        await each.drop(a);
        await sync(a, b);
        await alike(a, b);
        assert.deepEqual([count(a), count(b), tombstones(b).length], [0, 0, 1]);
        const scrub = { kind: 'scrub-tombstones', after: null, limit: 10 } as const;
        assert.deepEqual((await ask<Page>(b, scrub)).suspects, []);
        b.db.prepare("UPDATE tombstones SET reason = 'another'").run();
        assert.deepEqual((await ask<Page>(b, scrub)).suspects, [subject]);
        assert.deepEqual((await repair(b, { subjects: [subject] })).repaired.length, 1);
        await alike(a, b);
        // Only its home writes a subject that has one.
        const [writer, other] = kind.writer !== 'anybody' ? [a, b] : [b, a];
        writer.nowMs += 2000;
        await each.put(writer, 3);
        await sync(writer, other);
        await alike(a, b);
        assert.deepEqual([count(a), count(b), tombstones(a), tombstones(b)], [1, 1, [], []]);
      });

      it('is dropped for good where the drop comes late, and lives where it was written meanwhile', async () => {
        const { a, b } = await two(each);
        a.nowMs += 1000;
        await each.drop(a);
        if (kind.writer === 'anybody' && kind.name !== 'link') {
          b.nowMs += 500;
          await each.put(b, 4);
        }
        await sync(a, b);
        await sync(b, a);
        await alike(a, b);
        const lives = kind.writer === 'anybody' && kind.name !== 'link';
        assert.equal(count(a), lives ? 1 : 0);
      });
    }

    if (kind.exported && table === 'records') {
      const query = { kind: 'export-records', after: null, limit: 10, bytesMax: 1_000_000 } as const;

      it('is exported, and imported as it was', async () => {
        const { a } = await two(each);
        const { records } = await ask<AnswerOf<ExportRecords>>(a, query);
        const [record] = records.filter((one) => one.kind === kind.name);
        assert.deepEqual([record!.id, record!.namespace], [id, namespace]);
        const fresh = replica('c', START_MS, undefined, MORE_KINDS);
        const outcome = await fresh.run({ kind: 'import-record', record: record!, revive: false });
        assert.deepEqual(outcome, { id, change: 'created' });
        assert.deepEqual(rowOf(fresh, kind, id)!.image, rowOf(a, kind, id)!.image);
        assert.deepEqual(fresh.audit(), []);
      });

      it('is left out of an export while it cannot be read', async () => {
        const { a } = await two(each);
        a.db.prepare(`UPDATE records SET payload = 'no JSON' WHERE ${where}`).run();
        const page = await ask<AnswerOf<ExportRecords>>(a, query);
        assert.deepEqual([page.damaged, page.last], [[id], { kind: kind.name, id }]);
        assert.ok(page.records.every((one) => one.kind !== kind.name));
      });
    }

    if (kind.writer === 'anybody') {
      it('is one row where two nodes wrote it at once, and says what lost', async () => {
        const { a, b } = await two(each);
        if (kind.name === 'link') {
          await each.drop(a);
          await sync(a, b);
        }
        a.nowMs += 1000;
        b.nowMs += 2000;
        await each.put(a, 5);
        await each.put(b, 6);
        await sync(a, b);
        await sync(b, a);
        await alike(a, b);
        const siblings = a.db.prepare('SELECT count(*) FROM siblings WHERE kind = ?').pluck().get(kind.name);
        assert.equal(siblings, 2);
        const lost = a.db.prepare('SELECT origin, kind, subject, namespace FROM conflicts').all();
        const loser = { origin: 'peer-a/epocha', kind: kind.name, subject: id, namespace };
        assert.deepEqual(lost, kind.contested.length === 0 ? [] : [loser]);
        // What is never removed keeps its siblings.
        if (kind.lasting) return;
        await each.drop(a);
        await sync(a, b);
        await alike(a, b);
        assert.equal(a.db.prepare('SELECT count(*) FROM siblings').pluck().get(), 0);
      });
    } else {
      it('has no effect from a node that is not its home', async () => {
        const { a, b } = await two(each);
        await each.put(b, 2);
        const { parked } = await a.apply(await b.read(HAVE(a)));
        assert.deepEqual(parked, [{ op_id: 'peer-b/epochb/1', reason: 'not_home' }]);
        assert.deepEqual(a.audit(), []);
        await a.run({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
        assert.equal(rowOf(a, kind, id)?.stamp.origin, 'peer-a/epocha');
      });
    }
  });
}
