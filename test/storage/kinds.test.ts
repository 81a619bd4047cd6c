import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import type { Mutation } from '../../protocol/decide/mutations.js';
import type { Row } from '../../protocol/decide/reads.js';
import { adoptionKind } from '../../protocol/kinds/adoption-kind.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import { KINDS, Kinds } from '../../protocol/kinds/kinds.js';
import { linkKind } from '../../protocol/kinds/link-kind.js';
import { memoryKind } from '../../protocol/kinds/memory-kind.js';
import { standardKind } from '../../protocol/kinds/standard-kind.js';
import type { Facts } from '../../protocol/kinds/version.js';
import { type RepairOutcome, repairOf } from '../../protocol/mesh/repair-terms.js';
import { headerHash } from '../../protocol/operation-log.js';
import type { Query } from '../../protocol/queries.js';
import { type RecordSqlRow, recordFromSql } from '../../storage/sqlite/kinds/record-table.js';
import { engineOf } from '../../storage/sqlite/migrations/form.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { aSticker, lampKind, MORE_KINDS, stickerKind, stickerKindOf } from '../support/throwaway-kinds.js';

const START_MS = 1_772_000_000_000;
const LOST = 'peer-00000000000000bb';

/** Applies a mutation as the writer does; no command of this release writes a throwaway kind. */
function apply(one: Replica, mutation: Mutation): void {
  one.db.exec('BEGIN IMMEDIATE');
  const { log, mutations, quotas, digests, context } = engineOf(
    one.db,
    { nowMs: one.nowMs, crypto: systemCrypto },
    one.kinds,
  );
  log.begin();
  mutations.apply(mutation, context);
  quotas.flush();
  digests.flush();
  log.finish();
  one.db.exec('COMMIT');
}

function rowOf(one: Replica, kind: Kind, id: string): Row | null {
  const sql = one.db.prepare('SELECT * FROM records WHERE kind = ? AND id = ?').get(kind.name, id);
  return sql === undefined ? null : recordFromSql(kind, sql as RecordSqlRow);
}

function buriedSeen(one: Replica, kind: Kind, id: string): Row['stamp']['seen'] {
  const sql = 'SELECT seen FROM tombstones WHERE kind = ? AND id = ?';
  const seen = one.db.prepare(sql).pluck().get(kind.name, id) as string | undefined;
  return seen === undefined ? {} : (JSON.parse(seen) as Row['stamp']['seen']);
}

/** A subject of a kind, and what is done to it. */
interface Case {
  readonly kind: Kind;
  readonly id: string;
  readonly namespace: string;
  readonly table: 'memories' | 'memory_links' | 'records';
  /** What the subject needs around it. */
  prepare(one: Replica): Promise<void>;
  /** Writes the subject, in one of several versions. */
  put(one: Replica, version: number): Promise<void>;
  drop(one: Replica): Promise<void>;
  /** Columns that say something, each with another value. */
  readonly damages: Readonly<Record<string, string>>;
}

const nothing = () => Promise.resolve();
const STAMPS = {
  hlc: "'9' || substr(hlc, 2)",
  origin_seq: 'origin_seq - 1',
  seen: `'{"peer-a/epocha":99}'`,
  digest: 'zeroblob(32)',
  namespace: "'nowhere'",
};
const RECORD_DAMAGES = { ...STAMPS, payload: "replace(payload, ':', ' :')" };

function recordCase<I extends object>(
  kind: Kind<I>,
  { id, namespace }: Pick<Case, 'id' | 'namespace'>,
  imageOf: (version: number) => I,
): Case {
  const put = async (one: Replica, version: number) => {
    const before = rowOf(one, kind as never, id);
    const seen = before?.stamp.seen ?? buriedSeen(one, kind as never, id);
    const image = imageOf(version);
    const word = `${kind.name}.put`;
    apply(one, {
      ...{ mutation: 'write', kind: kind.name, word, id, namespace, seen, image },
      before: before?.image ?? null,
    });
  };
  const drop = async (one: Replica) => {
    const { image: before, stamp } = rowOf(one, kind as never, id)!;
    const facts: Facts = kind.removal.parse({})!;
    const word = `${kind.name}.drop`;
    apply(one, {
      ...{ mutation: 'remove', kind: kind.name, word, id, namespace, seen: stamp.seen, before },
      ...{ reason: 'test', facts, keepCopy: false },
    });
  };
  const common = { kind: kind as never, id, namespace, table: 'records', prepare: nothing } as const;
  return { ...common, put, drop, damages: RECORD_DAMAGES };
}

const MEMORY = aMemory({ id: 'm1', title: 'one', namespace: 'team' });
const ENDS = ['left', 'right'].map((id) => aMemory({ id, title: id, namespace: 'team' }));

const CASES: readonly Case[] = [
  {
    ...{ kind: memoryKind as never, id: MEMORY.id, namespace: 'team', table: 'memories', prepare: nothing },
    async put(one, version) {
      const content = `content ${version}`;
      const held = one.db.prepare('SELECT 1 FROM memories WHERE id = ?').get(MEMORY.id);
      const importing = { kind: 'import-memory', memory: { ...MEMORY, content }, archive: true } as const;
      await one.run(held === undefined ? importing : updating(MEMORY.id, { content }));
    },
    drop: async (one) => void (await one.run(deleting(MEMORY.id))),
    damages: { ...STAMPS, content: "'damaged'", rest: `'{"a":1}'`, created_hlc: "'0'" },
  },
  {
    ...{ kind: linkKind as never, id: 'left|right|related_to', namespace: 'team', table: 'memory_links' },
    async prepare(one) {
      for (const memory of ENDS) await one.run(storing(memory));
    },
    async put(one, version) {
      const { link } = linking('left', 'right');
      const created_at = `2026-01-0${version}T00:00:00.000Z`;
      await one.run({ kind: 'import-link', link: { ...link, created_at, rest: { zeta: version } } });
    },
    async drop(one) {
      const link = { source_id: 'left', target_id: 'right', relation: 'related_to' } as const;
      await one.run({ kind: 'drop-link', link, viewer: OPERATOR });
    },
    damages: { ...STAMPS, attest_level: "'signed'", rest: `'{"a":1}'`, signature: "'of another type'" },
  },
  {
    ...recordCase(standardKind, { id: 'team', namespace: 'team' }, () => assert.fail('has a command')),
    async put(one, version) {
      const asked = { namespace: 'team', standardId: null, parent: `parent/${version}` };
      await one.run({ kind: 'set-standard', ...asked, viewer: OPERATOR });
    },
    drop: async (one) => void (await one.run({ kind: 'clear-standard', namespace: 'team' })),
  },
  recordCase(adoptionKind, { id: `peer-a/${LOST}/1`, namespace: '_mesh' }, (version) => ({
    ...{ peer_id: LOST, home: 'peer-a', number: 1, adopted_by: `by ${version}` },
    ...{ adopted_at: '2026-01-01T00:00:00.000Z', rest: {} },
  })),
  recordCase(stickerKind, { id: 'a sticker', namespace: 'team' }, (version) =>
    aSticker({ text: `text ${version}`, score: version, rest: { zeta: version } }),
  ),
  recordCase(lampKind, { id: 'peer-a/lamp', namespace: 'team' }, (version) => ({
    ...{ lit: version % 2 === 0 ? 'on' : 'off', rest: { zeta: version } },
  })),
];

assert.deepEqual(
  CASES.map(({ kind }) => kind.name),
  MORE_KINDS.all.map(({ name }) => name),
  'every kind has a case',
);

const GONE = ['word', 'reason', 'namespace', 'facts', 'hlc', 'origin', 'origin_seq', 'seen'].join(', ');
const HAVE = (one: Replica) =>
  Object.fromEntries(
    one.db
      .prepare(`SELECT origin, max(origin_seq) AS seq FROM operations GROUP BY origin`)
      .all()
      .map((row) => Object.values(row as { origin: string; seq: number }) as [string, number]),
  );

/** Gives one replica what another has. */
async function sync(from: Replica, to: Replica): Promise<void> {
  const operations = await from.read(HAVE(to));
  const { applied, noop } = await to.apply(operations);
  assert.equal(applied + noop, operations.length);
}

const tombstones = ({ db }: Replica) => db.prepare(`SELECT kind, id, ${GONE} FROM tombstones`).all();

async function alike(one: Replica, two: Replica): Promise<void> {
  assert.deepEqual(await two.state(), await one.state());
  assert.deepEqual(tombstones(two), tombstones(one));
  assert.deepEqual([one.audit(), two.audit()], [[], []]);
}

async function ask<T>(one: Replica, query: Query): Promise<T> {
  const answer = await one.store.query(query);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value as T;
}

interface Page {
  readonly suspects: readonly { readonly kind: string; readonly id: string }[];
  readonly looked: number;
  readonly next: string | null;
}

/** All suspects of a kind, a row at a time. */
async function suspects(one: Replica, kind: string) {
  const found: Page['suspects'][number][] = [];
  let [looked, after] = [0, null as string | null];
  do {
    const page: Page = await ask(one, { kind: 'scrub-rows', of: kind, after, limit: 1 });
    found.push(...page.suspects);
    looked += page.looked;
    after = page.next;
  } while (after !== null);
  return { found, looked };
}

const repair = async (one: Replica, request: Parameters<typeof repairOf>[0]) =>
  (await one.run(repairOf(request))) as RepairOutcome;

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
  const where = table === 'records' ? `kind = '${kind.name}'` : table === 'memories' ? `id = '${id}'` : '1';
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
      const [writer, other] = kind.writer === 'home' ? [a, b] : [b, a];
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
        assert.deepEqual(lost, [{ origin: 'peer-a/epocha', kind: kind.name, subject: id, namespace }]);
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

describe('an operation whose effect this release cannot read', () => {
  const colour = (name: string) => aSticker({ colour: name });

  it('leaves the row that it made, and is named', async () => {
    const later = new Kinds([...KINDS.all, stickerKindOf(['plain', 'red', 'ultraviolet'])]);
    const newer = replica('a', START_MS, undefined, later);
    const made = recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('ultraviolet'));
    await made.put(newer, 1);
    const held = newer.db.prepare('SELECT * FROM records').all();
    const older = replica('a', START_MS, newer.db.serialize(), MORE_KINDS);
    const subject = { kind: 'sticker', id: 's' };
    for (const dryRun of [true, false]) {
      const done = await repair(older, { subjects: [subject], dryRun });
      const place = { origin: 'peer-a/epocha', seq: 1, kind: 'sticker', subject: 's', namespace: 'team' };
      assert.deepEqual([done.unreadable, done.repaired, done.sound], [[place], [], 0]);
      assert.deepEqual(older.db.prepare('SELECT * FROM records').all(), held);
    }
    // A later one that can be read does not need it.
    const after = recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('red'));
    const seen = { 'peer-a/epocha': 1 };
    older.db.exec('DELETE FROM records');
    apply(older, {
      ...{ mutation: 'write', ...subject, word: 'sticker.put', namespace: 'team', seen, before: null },
      image: colour('red'),
    });
    const done = await repair(older, {
      subjects: [subject],
      recount: [{ kind: 'sticker', namespace: 'team' }],
    });
    assert.deepEqual([done.unreadable, rowOf(older, after.kind, 's')?.image], [[], colour('red')]);
  });

  it('is kept for a release that can, where it comes from another node', async () => {
    const later = new Kinds([...KINDS.all, stickerKindOf(['plain', 'ultraviolet'])]);
    const newer = replica('a', START_MS, undefined, later);
    await recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('ultraviolet')).put(newer, 1);
    const operations = await newer.read();
    const oldest = replica('b', START_MS);
    const older = replica('c', START_MS, undefined, MORE_KINDS);
    const op_id = 'peer-a/epocha/1';
    assert.deepEqual((await oldest.apply(operations)).parked, [{ op_id, reason: 'unknown_kind' }]);
    assert.deepEqual((await older.apply(operations)).parked, [{ op_id, reason: 'invalid' }]);
    for (const held of [oldest, older]) {
      const upgraded = replica('b', START_MS, held.db.serialize(), later);
      await upgraded.run({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
      assert.equal(rowOf(upgraded, later.of('sticker'), 's')?.namespace, 'team');
      assert.deepEqual(upgraded.audit(), []);
    }
  });

  it('leaves a memory as it is', async () => {
    const one = replica('a', START_MS);
    const memory = aMemory({ namespace: 'team' });
    await one.run(storing(memory));
    const [operation] = await one.read();
    const payload = operation!.payload!.replace('"tier":"mid"', '"tier":"eternal"');
    assert.notEqual(payload, operation!.payload);
    const payloadHash = systemCrypto.sha256Hex(payload);
    one.db.prepare('UPDATE operations SET payload = ?, payload_hash = ?').run(payload, payloadHash);
    const head = headerHash({ ...operation!, payloadHash }, systemCrypto);
    one.db.prepare('UPDATE log_state SET chain_head = ?').run(head);
    const before = await one.state();
    const subject = { kind: 'memory', id: memory.id };
    const done = await repair(one, { subjects: [subject], recount: [{ kind: 'memory', namespace: 'team' }] });
    const place = { origin: 'peer-a/epocha', seq: 1, kind: 'memory', subject: memory.id, namespace: 'team' };
    assert.deepEqual([done.unreadable, done.repaired, done.recounted, done.sound], [[place], [], [], 0]);
    assert.deepEqual(await one.state(), before);
  });
});
