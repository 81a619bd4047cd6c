import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestCosine, unitVector } from '../../../storage/vectors/rescore.js';
import { VectorIndex, type VectorSearch } from '../../../storage/vectors/vector-index.js';
import { generator, randomVectors } from './random-vectors.js';

interface Row {
  readonly nsId: number;
  readonly firstOwner: number;
  readonly secondOwner: number;
  readonly vectors: Float32Array;
}

const everything = { nsIds: null, ownerSlots: null };

function visibleRows(rows: ReadonlyMap<number, Row>, search: VectorSearch): [number, Row][] {
  return [...rows].filter(
    ([, row]) =>
      (search.nsIds?.includes(row.nsId) ?? true) &&
      (row.firstOwner === 0 ||
        search.ownerSlots === null ||
        search.ownerSlots.includes(row.firstOwner) ||
        search.ownerSlots.includes(row.secondOwner)),
  );
}

/** A plain float32 scan: the truth that the index is compared with. */
function plainSearch(rows: ReadonlyMap<number, Row>, search: VectorSearch): number[] {
  const query = unitVector(search.queryVector);
  return visibleRows(rows, search)
    .map(([rid, row]) => ({ rid, cosine: bestCosine(query, row.vectors) }))
    .sort((left, right) => right.cosine - left.cosine || left.rid - right.rid)
    .slice(0, search.k)
    .map(({ rid }) => rid);
}

function loaderOf(rows: ReadonlyMap<number, Row>) {
  return (rids: readonly number[]) =>
    new Map(rids.flatMap((rid) => (rows.has(rid) ? [[rid, rows.get(rid)!.vectors] as const] : [])));
}

test('finds exactly the ten nearest of random vectors that a float32 scan finds', () => {
  const dim = 512;
  const random = generator(11);
  const rows = new Map<number, Row>();
  const index = new VectorIndex(dim);
  const vectors = randomVectors(4000, dim, random);
  for (let rid = 1; rid <= 4000; rid += 1) {
    const row = {
      nsId: 1,
      firstOwner: 0,
      secondOwner: 0,
      vectors: vectors.slice((rid - 1) * dim, rid * dim),
    };
    rows.set(rid, row);
    assert.ok(index.put({ rid, ...row }).ok);
  }
  for (let turn = 0; turn < 40; turn += 1) {
    const search = { queryVector: randomVectors(1, dim, random), ...everything, k: 10 };
    const hits = index.search(search, loaderOf(rows)).hits.map(({ rid }) => rid);
    assert.deepEqual(hits, plainSearch(rows, search));
  }
});

test('finds exactly the ten nearest among rows that differ by less than an int8 step', () => {
  const dim = 512;
  const random = generator(12);
  const rows = new Map<number, Row>();
  const index = new VectorIndex(dim);
  const centre = randomVectors(1, dim, random);
  for (let rid = 1; rid <= 150; rid += 1) {
    const noise = randomVectors(1, dim, random);
    const row = {
      nsId: 1,
      firstOwner: 0,
      secondOwner: 0,
      vectors: centre.map((value, at) => value + 0.01 * noise[at]!),
    };
    rows.set(rid, row);
    index.put({ rid, ...row });
  }
  for (let turn = 0; turn < 20; turn += 1) {
    const noise = randomVectors(1, dim, random);
    const search = {
      queryVector: centre.map((value, at) => value + 0.01 * noise[at]!),
      ...everything,
      k: 10,
    };
    const hits = index.search(search, loaderOf(rows)).hits.map(({ rid }) => rid);
    assert.deepEqual(hits, plainSearch(rows, search));
  }
});

test('mean and deviation are those of the visible rows', () => {
  const dim = 96;
  const random = generator(13);
  const index = new VectorIndex(dim);
  const query = unitVector(randomVectors(1, dim, random));
  const cosines: number[] = [];
  for (let rid = 1; rid <= 500; rid += 1) {
    const vectors = randomVectors(1, dim, random).map((value, at) => value + query[at]! * 0.3);
    const hidden = rid % 5 === 0;
    index.put({ rid, nsId: rid % 2, firstOwner: hidden ? 9 : 0, secondOwner: 0, vectors });
    if (!hidden && rid % 2 === 1) cosines.push(bestCosine(query, vectors));
  }
  const evidence = index.search({ queryVector: query, nsIds: [1], ownerSlots: [3], k: 5 });
  const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length;
  const deviation = Math.sqrt(cosines.reduce((sum, value) => sum + (value - mean) ** 2, 0) / cosines.length);
  assert.equal(evidence.scanned, cosines.length);
  assert.ok(Math.abs(evidence.mean - mean) < 0.0005, `${evidence.mean} is not ${mean}`);
  assert.ok(Math.abs(evidence.deviation - deviation) < 0.0005, `${evidence.deviation} is not ${deviation}`);
});

test('answers like a plain scan through random inserts, replacements, moves and deletes', () => {
  for (const dim of [3, 16, 40]) {
    const random = generator(14 + dim);
    const rows = new Map<number, Row>();
    const index = new VectorIndex(dim);
    const pick = (below: number) => Math.floor(random() * below);
    for (let turn = 0; turn < 3000; turn += 1) {
      const rid = 1 + pick(300);
      if (random() < 0.35) {
        assert.equal(index.delete(rid), rows.delete(rid));
      } else {
        const firstOwner = pick(4);
        const row = {
          nsId: pick(7) - 2,
          firstOwner,
          secondOwner: firstOwner === 0 ? 0 : pick(4),
          vectors: randomVectors(1 + pick(12), dim, random),
        };
        rows.set(rid, row);
        assert.ok(index.put({ rid, ...row }).ok);
      }
      if (turn % 10 !== 0) continue;
      const search: VectorSearch = {
        queryVector: randomVectors(1, dim, random),
        nsIds: random() < 0.4 ? null : [pick(7) - 2, pick(7) - 2, 99],
        ownerSlots: random() < 0.4 ? null : [pick(4), pick(4)].filter((slot) => slot > 0),
        k: 1 + pick(12),
      };
      const evidence = index.search(search, loaderOf(rows));
      assert.deepEqual(
        evidence.hits.map((hit) => hit.rid),
        plainSearch(rows, search),
      );
      const visible = visibleRows(rows, search);
      assert.equal(
        evidence.scanned,
        visible.reduce((sum, [, row]) => sum + row.vectors.length / dim, 0),
      );
      assert.equal(index.size, rows.size);
    }
  }
});

test('a private row is found by its owner and its addressee alone, however near it is', () => {
  const index = new VectorIndex(16);
  const query = Float32Array.from({ length: 16 }, (_, at) => at + 1);
  index.put({ rid: 1, nsId: 1, firstOwner: 5, secondOwner: 6, vectors: query });
  index.put({ rid: 2, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: query.toReversed() });
  const seenBy = (ownerSlots: number[] | null) =>
    index.search({ queryVector: query, nsIds: null, ownerSlots, k: 1 }).hits.map(({ rid }) => rid);
  assert.deepEqual(seenBy([5]), [1]);
  assert.deepEqual(seenBy([4, 6]), [1]);
  assert.deepEqual(seenBy(null), [1]);
  assert.deepEqual(seenBy([]), [2]);
  assert.deepEqual(seenBy([7]), [2]);
  assert.deepEqual(seenBy([0, -1]), [2]);
});

test('a memory of very many near chunks does not hide the others', () => {
  const dim = 32;
  const random = generator(15);
  const index = new VectorIndex(dim);
  const query = randomVectors(1, dim, random);
  const crowd = new Float32Array(dim * 600);
  for (let chunk = 0; chunk < 600; chunk += 1) crowd.set(query, chunk * dim);
  index.put({ rid: 1, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: crowd });
  for (let rid = 2; rid <= 30; rid += 1) {
    index.put({ rid, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: randomVectors(1, dim, random) });
  }
  const { hits } = index.search({ queryVector: query, ...everything, k: 10 });
  assert.equal(hits.length, 10);
  assert.equal(new Set(hits.map(({ rid }) => rid)).size, 10);
  assert.equal(hits[0]?.rid, 1);
});

test('rows that the loader does not give back make room for the next ones', () => {
  const dim = 32;
  const random = generator(16);
  const index = new VectorIndex(dim);
  const rows = new Map<number, Row>();
  for (let rid = 1; rid <= 900; rid += 1) {
    const row = { nsId: 1, firstOwner: 0, secondOwner: 0, vectors: randomVectors(1, dim, random) };
    index.put({ rid, ...row });
    if (rid > 880) rows.set(rid, row);
  }
  const search = { queryVector: randomVectors(1, dim, random), ...everything, k: 10 };
  assert.deepEqual(
    index.search(search, loaderOf(rows)).hits.map(({ rid }) => rid),
    plainSearch(rows, search),
  );
});

test('the room of deleted rows is used again', () => {
  const dim = 64;
  const random = generator(17);
  const index = new VectorIndex(dim);
  const fill = (nsId: number) => {
    for (let rid = 1; rid <= 5000; rid += 1) {
      index.put({ rid, nsId, firstOwner: 0, secondOwner: 0, vectors: randomVectors(1, dim, random) });
    }
  };
  fill(1);
  const bytes = index.memory.buffer.byteLength;
  for (let turn = 2; turn <= 8; turn += 1) {
    for (let rid = 1; rid <= 5000; rid += 1) index.delete(rid);
    assert.equal(index.rows, 0);
    fill(turn);
  }
  assert.equal(index.memory.buffer.byteLength, bytes);
});

test('a full index refuses with STORAGE_FULL, keeps what it has and takes rows again after a delete', () => {
  const dim = 512;
  const random = generator(18);
  const index = new VectorIndex(dim, { bytesMax: 1 << 20 });
  let rid = 0;
  let outcome = index.put({
    rid,
    nsId: 1,
    firstOwner: 0,
    secondOwner: 0,
    vectors: randomVectors(1, dim, random),
  });
  while (outcome.ok) {
    rid += 1;
    outcome = index.put({
      rid,
      nsId: 1,
      firstOwner: 0,
      secondOwner: 0,
      vectors: randomVectors(1, dim, random),
    });
    assert.ok(rid < 3000, 'the limit is never reached');
  }
  assert.equal(outcome.error.code, 'STORAGE_FULL');
  assert.match(outcome.error.message, /1048576 bytes/);
  assert.ok(index.memory.buffer.byteLength <= 1 << 20);
  assert.equal(index.has(rid), false);
  assert.equal(index.size, rid);
  assert.equal(
    index.search({ queryVector: randomVectors(1, dim, random), ...everything, k: 5 }).hits.length,
    5,
  );
  index.delete(0);
  assert.ok(
    index.put({ rid, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: randomVectors(1, dim, random) }).ok,
  );
});

test('a vector without direction or of another dimension is refused and replaces nothing by garbage', () => {
  const index = new VectorIndex(4);
  const entry = { rid: 1, nsId: 1, firstOwner: 0, secondOwner: 0 };
  for (const vectors of [
    new Float32Array(4),
    new Float32Array(3),
    new Float32Array(0),
    Float32Array.of(1, Number.NaN, 0, 0),
    Float32Array.of(1, Number.POSITIVE_INFINITY, 0, 0),
    Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0),
  ]) {
    const outcome = index.put({ ...entry, vectors });
    assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'INVALID_ARGUMENT');
    assert.equal(index.has(1), false);
    assert.equal(index.rows, 0);
  }
  assert.ok(index.put({ ...entry, vectors: Float32Array.of(0, 0, -7, 0) }).ok);
  const { hits } = index.search({ queryVector: Float32Array.of(0, 0, -1, 0), ...everything, k: 3 });
  assert.equal(hits.length, 1);
  assert.ok(Math.abs(hits[0]!.cosine - 1) < 0.01);
});

test('extreme coordinates neither overflow nor wrap', () => {
  for (const dim of [512, 1536, 4096]) {
    const index = new VectorIndex(dim);
    const flat = new Float32Array(dim).fill(1);
    const spike = new Float32Array(dim);
    spike[dim - 1] = 1;
    index.put({ rid: 1, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: flat });
    index.put({ rid: 2, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: flat.map((value) => -value) });
    index.put({ rid: 3, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: spike });
    const near = index.search({ queryVector: flat, ...everything, k: 3 }).hits;
    assert.deepEqual(
      near.map(({ rid, cosine }) => [rid, Math.round(cosine * 100) / 100]),
      [
        [1, 1],
        [3, Math.round(100 / Math.sqrt(dim)) / 100],
        [2, -1],
      ],
    );
    assert.equal(index.search({ queryVector: spike, ...everything, k: 1 }).hits[0]?.rid, 3);
  }
});

test('an empty index and an unknown namespace answer nothing', () => {
  const index = new VectorIndex(8);
  const queryVector = new Float32Array(8).fill(1);
  const nothing = { hits: [], mean: 0, deviation: 0, scanned: 0 };
  const { queryVector: unit, ...answer } = index.search({ queryVector, ...everything, k: 3 });
  assert.deepEqual(answer, nothing);
  assert.ok(Math.abs(Math.hypot(...unit) - 1) < 1e-6);
  index.put({ rid: 1, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: queryVector });
  assert.equal(index.search({ queryVector, nsIds: [2], ownerSlots: null, k: 3 }).scanned, 0);
  assert.equal(index.search({ queryVector, nsIds: [], ownerSlots: null, k: 3 }).scanned, 0);
});
