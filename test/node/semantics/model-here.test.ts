import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelEmbedder } from '../../../node/semantics/model-embedder.js';
import { type LoadedModel, ModelHere } from '../../../node/semantics/model-here.js';
import type { Result } from '../../../protocol/base/result.js';
import { realClock, realScheduler, recordingLog } from '../../storage/vectors/real-seams.js';

const soon = () => realClock.monotonicMs() + 60_000;
const problem = (result: Result<unknown>) => (result.ok ? 'ok' : result.error.message);

function embedderOf(load: () => Promise<LoadedModel>, dim = 1): ModelEmbedder {
  return new ModelEmbedder({
    ...{ clock: realClock, scheduler: realScheduler, log: recordingLog() },
    ...{ model: 'test', dim, input: { windowTokens: 90 } },
    open: (events) => new ModelHere({ dim, scheduler: realScheduler, load, ...events }),
  });
}

/** A model whose vectors have the length of a text. */
function lengths(): LoadedModel & { closed: number; batches: number[] } {
  const model = {
    closed: 0,
    batches: [] as number[],
    encode(texts: readonly string[]) {
      model.batches.push(texts.length);
      if (texts.some((text) => text.includes('refused'))) throw new Error('what a text');
      return Float32Array.from(texts, (text) => text.length);
    },
    close() {
      model.closed += 1;
    },
  };
  return model;
}

test('a model in this thread answers batches in order, and a text that it refuses fails alone', async () => {
  const model = lengths();
  const embedder = embedderOf(async () => model);
  const [many, asked] = await Promise.all([
    embedder.embed(Array.from({ length: 20 }, (_, index) => 'x'.repeat(index + 1))),
    embedder.embedQuery('four', soon()),
  ]);
  assert.ok(many.ok && asked.ok);
  assert.deepEqual(
    many.value.map(([length]) => length),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  assert.deepEqual([...asked.value], [4]);
  assert.equal(problem(await embedder.embed(['refused'])), 'the embedder failed: what a text');
  assert.equal(model.batches[0], 1, 'the query came first');
  assert.equal(problem(await embedder.embed(['next'])), 'ok');
  assert.equal(model.closed, 0);
  await embedder.close();
  assert.equal(model.closed, 1);
});

test('a model in this thread that cannot be loaded fails the embedder, and one that is loaded too late is closed', async () => {
  const broken = embedderOf(() => Promise.reject(new Error('no weights here')));
  assert.equal(problem(await broken.embedQuery('a', soon())), 'the embedder is failing: no weights here');
  assert.deepEqual(broken.state(), { loaded: false, failing: true, lastError: 'no weights here' });
  await broken.close();

  const model = lengths();
  let loaded = (_model: LoadedModel) => {};
  const late = embedderOf(
    () =>
      new Promise((resolve) => {
        loaded = resolve;
      }),
  );
  const open = late.embed(['a']);
  await late.close();
  loaded(model);
  assert.equal(problem(await open), 'the embedder is shutting down');
  assert.equal(model.closed, 1);
});
