import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerOf, Query } from '../../protocol/release.js';
import { aMemory, linking, storing, updating } from '../support/memories.js';
import { type Replica, replica, verified } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { onlyOnSqlite } from '../support/test-store.js';

/** A column of PostgreSQL holds values of its type. */
const TYPED = onlyOnSqlite('a value has another type than its column');

const START_MS = 1_772_000_000_000;
const ORIGIN = 'peer-a/epocha';

/** A replica with some memories. */
async function filled(name: string, count: number) {
  const one = replica(name, START_MS);
  const ids: string[] = [];
  for (let n = 1; n <= count; n += 1) {
    const memory = aMemory({ title: `row ${n} of ${name}`, namespace: 'team' });
    ids.push(memory.id);
    await one.run(storing(memory));
  }
  return { one, ids };
}

async function ask<Q extends Query>(one: Replica, query: Q): Promise<AnswerOf<Q>> {
  const answer = await one.store.query(query);
  if (!answer.ok) throw new Error(answer.error.message);
  return answer.value;
}

const page = (one: Replica, have: Record<string, number> = {}) =>
  ask(one, { kind: 'read-operations', have, origins: null, limit: 1000, bytesMax: 1e9 });

/** The exclusive or of numbers in hexadecimal. */
const exclusiveOr = (hashes: readonly string[]): bigint =>
  hashes.reduce((sum, hash) => sum ^ BigInt(`0x${hash}`), 0n);

const rewriting = (id: string, content: string) => updating(id, { content });

describe('an operation whose columns are of another type', () => {
  it('travels with the payload that it has, and is mended by the scrub', { skip: TYPED }, async () => {
    const { one } = await filled('a', 4);
    const before = await one.read();
    one.db.exec('UPDATE operations SET payload = CAST(payload AS BLOB) WHERE origin_seq = 2');
    assert.deepEqual(await one.read(), before);
    const report = await scrubbed(one);
    assert.deepEqual([report.damaged_operations, report.restored_operations, report.lost], [1, 1, []]);
    const type = one.db.prepare('SELECT typeof(payload) FROM operations WHERE origin_seq = 2').pluck();
    assert.deepEqual([type.get(), one.audit()], ['text', []]);
  });

  for (const column of ['subject', 'namespace', 'kind', 'hlc', 'payload_hash', 'prev_hash', 'seen']) {
    // The text of bytes is no vector of versions, and reads as an empty one, which this operation has.
    it(`hinders no other, and comes back: ${column}`, { skip: column === 'seen' && TYPED }, async () => {
      const { one } = await filled('a', 4);
      const { one: other } = await filled('c', 3);
      const peer = replica('b', START_MS);
      await peer.apply(await one.read());
      await one.apply(await other.read());
      const before = await one.read();
      one.db.exec(
        `UPDATE operations SET ${column} = CAST(${column} AS BLOB) WHERE origin = '${ORIGIN}' AND origin_seq = 3`,
      );
      const { operations } = await page(one);
      assert.equal(operations.filter(({ origin }) => origin === 'peer-c/epochc').length, 3);
      for (const { seen: _seen, payload: _payload, ...texts } of operations)
        assert.ok(Object.values(texts).every((value) => typeof value !== 'object'));
      const report = await scrubbed(one, peer);
      assert.deepEqual([report.damaged_operations, report.lost], [column === 'prev_hash' ? 2 : 1, []]);
      assert.deepEqual([await one.read(), one.audit()], [before, []]);
    });
  }
});

describe('a row of the log that is lost', () => {
  it('ends the own operations of a page at the last one that another vouches for', async () => {
    const { one } = await filled('a', 5);
    const operations = await one.read();
    one.db.exec('DELETE FROM operations WHERE origin_seq = 5');
    const read = await page(one);
    assert.deepEqual(read.operations, operations.slice(0, 3));
    assert.deepEqual(read.ends, { [ORIGIN]: { seq: 3, hash: operations[3]!.prevHash } });
    assert.deepEqual((await page(one, { [ORIGIN]: 3 })).more, false);
  });

  it('ends a page in the middle, so that what stands before it is taken', async () => {
    const { one } = await filled('a', 6);
    one.db.exec('DELETE FROM operations WHERE origin_seq = 4');
    const read = await page(one);
    const last = read.operations.at(-1)!;
    assert.deepEqual(read.ends, { [ORIGIN]: { seq: 2, hash: verified(last).hash } });
    assert.deepEqual((await page(one, { [ORIGIN]: 3 })).operations, []);
    assert.equal((await page(one, { [ORIGIN]: 4 })).operations.length, 2);
  });

  it('ends those of another origin at a head that it signed, and everybody else travels', async () => {
    const { one } = await filled('a', 5);
    const { one: other } = await filled('c', 3);
    const between = replica('b', START_MS);
    const operations = await one.read();
    for (const [from, to] of [
      [0, 2],
      [2, 4],
      [4, 5],
    ])
      await between.apply(operations.slice(from, to));
    await between.apply(await other.read());
    between.db.exec(`DELETE FROM operations WHERE origin = '${ORIGIN}' AND origin_seq = 5`);
    const read = await page(between);
    assert.deepEqual(read.operations, [...operations.slice(0, 2), ...(await other.read())]);
    assert.deepEqual(
      read.heads.map(({ origin, seq, hash }) => [origin, seq, hash]),
      [operations[1]!, (await other.read()).at(-1)!].map((end) => [end.origin, end.seq, verified(end).hash]),
    );
    const report = await scrubbed(between, one);
    assert.deepEqual([report.lost, between.audit()], [[], []]);
  });
});

describe('a link whose signature is of another type', () => {
  for (const signature of ['7', "'text'", '1.5']) {
    it(`is made anew, and the scrub goes on: ${signature}`, { skip: TYPED }, async () => {
      const { one, ids } = await filled('a', 3);
      await one.run(linking(ids[0]!, ids[1]!));
      one.db.exec(`UPDATE memory_links SET signature = ${signature}`);
      one.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(ids[2]);
      const { repaired, complete } = await scrubbed(one);
      assert.deepEqual(
        repaired.map(({ problem }) => problem),
        ['damaged', 'damaged'],
      );
      const stored = one.db.prepare('SELECT signature FROM memory_links').pluck().get();
      assert.deepEqual([complete, stored, one.audit()], [true, null, []]);
    });
  }
});

describe('a digest that is none', () => {
  for (const digest of ['CAST(digest AS TEXT)', '7', 'zeroblob(31)', 'NULL']) {
    const skip = /CAST|7/.test(digest) && TYPED;
    it(`leaves the digests of the others as they are: ${digest}`, { skip }, async () => {
      const { one, ids } = await filled('a', 4);
      const ranges = Array.from({ length: 256 }, (_, range) => range);
      const subjects = async () =>
        (
          await ask(one, {
            kind: 'read-range-subjects',
            of: { kind: 'memory', namespace: 'team' },
            ranges,
            limit: 1e6,
          })
        ).subjects;
      const sums = async () =>
        (await ask(one, { kind: 'read-ranges', of: { kind: 'memory', namespace: 'team' } })).ranges;
      const [before, rangesBefore] = [await subjects(), await sums()];
      one.db.prepare(`UPDATE memories SET digest = ${digest} WHERE id = ?`).run(ids[1]);
      const after = await subjects();
      assert.deepEqual(
        after,
        before.map(([subject, hash]) => [subject, subject === ids[1] ? '' : hash]),
      );
      const rangesAfter = await sums();
      assert.deepEqual(Object.keys(rangesAfter), Object.keys(rangesBefore));
      const readable = after.map(([, hash]) => hash).filter((hash) => hash !== '');
      // Two rows may lie in one range.
      assert.equal(exclusiveOr(Object.values(rangesAfter)), exclusiveOr(readable));
    });
  }
});

it('retention goes on beside operations that cannot be read', async () => {
  const { one, ids } = await filled('a', 3);
  for (const id of ids) for (const content of ['second', 'third']) await one.run(rewriting(id, content));
  const query = {
    kind: 'superseded-payloads',
    before: '9999999999999-00000',
    everyoneHas: null,
    after: 0,
    limit: 500,
  } as const;
  const superseded = async () => (await ask(one, query)).places.map(({ seq }) => seq);
  assert.deepEqual(await superseded(), [1, 2, 3, 4, 6, 8]);
  // It is the last edit of the first memory; the one before it has seen how that began.
  for (const seen of ["'{'", 'CAST(seen AS BLOB)', "'7'"]) {
    one.db.exec(`UPDATE operations SET seen = ${seen} WHERE origin_seq = 5`);
    assert.deepEqual(await superseded(), [1, 2, 3, 6, 8]);
  }
  one.db.exec(`UPDATE operations SET origin = 'peer-a"epocha' WHERE origin_seq = 9`);
  assert.deepEqual(await superseded(), [1, 2, 3, 6, 8]);
});

it('a conflict whose payload is damaged is listed without its text, beside the others', async () => {
  const { one, ids } = await filled('a', 2);
  const { one: other } = await filled('b', 0);
  await other.apply(await one.read());
  for (const id of ids) {
    await one.run(rewriting(id, 'here'));
    await other.run(rewriting(id, 'there'));
  }
  await other.apply(await one.read());
  const conflicts = () => ask(other, { kind: 'list-conflicts', limit: 10 });
  const before = await conflicts();
  assert.equal(before.length, 2);
  const [first, second] = before as [(typeof before)[0], (typeof before)[0]];
  const damage = other.db.prepare(
    "UPDATE operations SET payload = 'X' || payload WHERE origin || '/' || origin_seq = ?",
  );
  damage.run(first.op_id);
  assert.deepEqual(await conflicts(), [{ ...first, lost: null }, second]);
});

describe('a memory with an empty object in a member that may be null', () => {
  it('is no damaged row: it is read, changed and received with it', async () => {
    const [one, two] = [replica('a', START_MS), replica('b', START_MS)];
    const memory = aMemory({ confidence_signals: {} });
    await one.run({ kind: 'import-memory', memory, archive: true });
    await one.run(updating(memory.id, { content: 'changed' }));
    await two.apply(await one.read());
    for (const each of [one, two]) {
      assert.deepEqual(each.audit(), []);
      const sql = 'SELECT confidence_signals FROM memories WHERE id = ?';
      assert.equal(each.db.prepare(sql).pluck().get(memory.id), '{}');
    }
    await two.run(updating(memory.id, { content: 'changed there' }));
  });
});
