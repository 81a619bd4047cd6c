import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { test } from 'node:test';
import { VectorClient } from '../../../storage/vectors/vector-client.js';
import type { VectorSearch } from '../../../storage/vectors/vector-search.js';
import { VectorsHere } from '../../../storage/vectors/vectors-here.js';
import { EmbeddingDatabase, MODEL, NOW } from './embedding-database.js';
import { realClock, realScheduler } from './real-seams.js';

const request = { queryVector: Float32Array.of(3, 4), nsIds: null, ownerIds: null, k: 10, now: NOW };
const soon = () => realClock.monotonicMs() + 30_000;

function clientOf(path: string, dim = 2): VectorClient {
  return new VectorClient({
    place: { engine: 'sqlite', path, synchronous: 'FULL' },
    model: MODEL,
    dim,
    bytesMax: undefined,
    clock: realClock,
    scheduler: realScheduler,
  });
}

function hereOf(path: string, dim = 2): VectorsHere {
  return new VectorsHere({ place: { engine: 'sqlite', path, synchronous: 'FULL' }, model: MODEL, dim });
}

const PLACES: readonly (readonly [string, (path: string, dim?: number) => VectorSearch])[] = [
  ['in its thread', clientOf],
  ['in the thread of who asks', hereOf],
];

for (const [where, open] of PLACES) {
  test(`searches ${where}, sees later writes and keeps the query usable`, async () => {
    const written = new EmbeddingDatabase();
    const client = open(written.path);
    try {
      written.store(1);
      written.embed(1, [3, 4, 4, 3]);
      assert.deepEqual(await client.warm(soon()), { ok: true, value: undefined });
      written.store(2);
      written.embed(2, [0, 1]);
      const outcome = await client.search(request, soon());
      assert.ok(outcome.ok);
      const { hits, queryVector, scanned } = outcome.value;
      assert.deepEqual(
        hits.map(({ rid, cosine }) => [rid, Math.round(cosine * 1000) / 1000]),
        [
          [1, 1],
          [2, 0.8],
        ],
      );
      assert.equal(scanned, 3);
      assert.deepEqual([...queryVector], [...Float32Array.of(0.6, 0.8)]);
      assert.equal(request.queryVector.length, 2);
      const many = await Promise.all(Array.from({ length: 50 }, () => client.search(request, soon())));
      assert.ok(many.every((one) => one.ok && one.value.hits.length === 2));
      if (client instanceof VectorClient) assert.equal(client.depth, 0);
    } finally {
      await client.close();
      written.close();
    }
  });

  test(`searches ${where}: a database that is not there yet is an error now and answered later`, async () => {
    const written = new EmbeddingDatabase();
    const client = open(`${written.path}.late`);
    try {
      const missing = await client.search(request, soon());
      assert.equal(missing.ok ? 'ok' : missing.error.code, 'DATABASE_ERROR');
      written.store(1);
      written.embed(1, [1, 0]);
      written.database.pragma('wal_checkpoint(TRUNCATE)');
      written.database.close();
      renameSync(written.path, `${written.path}.late`);
      const found = await client.search(request, soon());
      assert.ok(found.ok);
      assert.deepEqual(
        found.value.hits.map(({ rid }) => rid),
        [1],
      );
    } finally {
      await client.close();
      written.close();
    }
  });
}

test('a deadline in the past or too near fails, and the next call is answered', async () => {
  const written = new EmbeddingDatabase();
  const client = clientOf(written.path);
  try {
    const past = await client.search(request, realClock.monotonicMs() - 1);
    assert.equal(past.ok ? 'ok' : past.error.code, 'DEADLINE');
    const near = await client.search(request, realClock.monotonicMs() + 0.01);
    assert.equal(near.ok ? 'ok' : near.error.code, 'DEADLINE');
    assert.ok((await client.search(request, soon())).ok);
  } finally {
    await client.close();
    written.close();
  }
});

test('calls beyond the limit are refused at once', async () => {
  const written = new EmbeddingDatabase();
  const client = clientOf(written.path);
  try {
    const calls = Array.from({ length: 300 }, () => client.search(request, soon()));
    const outcomes = await Promise.all(calls);
    const codes = new Set(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code)));
    assert.deepEqual(codes, new Set(['ok', 'OVERLOADED']));
    assert.equal(outcomes.filter((outcome) => outcome.ok).length, 258);
  } finally {
    await client.close();
    written.close();
  }
});

test('the death of the thread fails the open calls and the next call gets a new thread', async () => {
  // A dimension that no index has makes the thread throw at its first call.
  const written = new EmbeddingDatabase();
  const client = clientOf(written.path, 100_000);
  try {
    const queryVector = new Float32Array(100_000).fill(1);
    for (let turn = 0; turn < 2; turn += 1) {
      const outcomes = await Promise.all(
        [1, 2, 3].map(() => client.search({ ...request, queryVector }, soon())),
      );
      for (const outcome of outcomes) {
        assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'ACTOR_RESTARTED');
        if (!outcome.ok) assert.match(outcome.error.message, /dimension/);
      }
    }
  } finally {
    await client.close();
    written.close();
  }
});

test('closing fails open calls and later ones', async () => {
  const written = new EmbeddingDatabase();
  const client = clientOf(written.path);
  const open = client.search(request, soon());
  await client.close();
  for (const outcome of [await open, await client.search(request, soon())]) {
    assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'SHUTTING_DOWN');
  }
  await client.close();
  written.close();
});

test('a search in the thread of who asks fails alone, and none begins after its end', async () => {
  // A dimension that no index has makes it throw.
  const written = new EmbeddingDatabase();
  const here = hereOf(written.path, 100_000);
  try {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const outcome = await here.search({ ...request, queryVector: new Float32Array(100_000).fill(1) });
      assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'INTERNAL');
    }
    await here.close();
    await here.close();
    const late = await here.search(request);
    assert.equal(late.ok ? 'ok' : late.error.code, 'SHUTTING_DOWN');
  } finally {
    written.close();
  }
});
