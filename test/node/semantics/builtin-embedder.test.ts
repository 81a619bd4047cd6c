import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BuiltinEmbedder } from '../../../node/semantics/encoder/builtin-embedder.js';
import type { Scheduler } from '../../../protocol/base/seams.js';
import { unitVector } from '../../../storage/vectors/rescore.js';
import { VectorIndex } from '../../../storage/vectors/vector-index.js';
import { dot } from '../../storage/vectors/random-vectors.js';
import { realClock, realScheduler, recordingLog } from '../../storage/vectors/real-seams.js';

const soon = () => realClock.monotonicMs() + 60_000;
const seams = { clock: realClock, scheduler: realScheduler };
const shared = new BuiltinEmbedder({ ...seams, log: recordingLog() });
after(() => shared.close());

/** A scheduler whose long timers run when the test says so. */
function heldScheduler(): Scheduler & { run(): void } {
  const held = new Set<() => void>();
  return {
    after(delayMs, run, options) {
      if (delayMs !== 12_345) return realScheduler.after(delayMs, run, options);
      held.add(run);
      return { cancel: () => void held.delete(run) };
    },
    immediate: realScheduler.immediate,
    run() {
      for (const run of [...held]) run();
    },
  };
}

test('loads at the first text and answers unit vectors in which meaning is distance', async () => {
  assert.deepEqual(shared.state(), { loaded: false, failing: false, lastError: null });
  const outcome = await shared.embed([
    'The cat sleeps on the sofa.',
    'A kitten is napping on the couch.',
    'Quarterly revenue grew by eight percent.',
  ]);
  assert.ok(outcome.ok);
  const [cat, kitten, revenue] = outcome.value as [Float32Array, Float32Array, Float32Array];
  for (const vector of outcome.value) {
    assert.equal(vector.length, shared.dim);
    assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-5);
  }
  assert.ok(dot(cat, kitten) > dot(cat, revenue) + 0.2);
  assert.deepEqual(shared.state(), { loaded: true, failing: false, lastError: null });
});

test('the same text has the same vector in any batch, and a repeated query comes from the cache', async () => {
  const alone = await shared.embedQuery('rotate the deploy key', soon());
  const inBatch = await shared.embed([
    'rotate the deploy key',
    'something else that is longer than the other',
  ]);
  assert.ok(alone.ok && inBatch.ok);
  assert.deepEqual(inBatch.value[0], alone.value);
  const again = await shared.embedQuery(' rotate the deploy key ', soon());
  assert.ok(again.ok);
  assert.equal(again.value, alone.value);
});

test('a query overtakes background texts that wait', async () => {
  const order: string[] = [];
  const background = shared
    .embed(Array.from({ length: 40 }, (_, at) => `background text number ${at} about nothing`))
    .then(() => order.push('background'));
  assert.ok(shared.queueDepth().background === 40);
  const query = shared.embedQuery('a query in a hurry', soon()).then(() => order.push('query'));
  assert.equal(shared.queueDepth().queries, 1);
  await Promise.all([background, query]);
  assert.deepEqual(order, ['query', 'background']);
  assert.deepEqual(shared.queueDepth(), { queries: 0, background: 0 });
});

test('blank text and text without letters is refused without asking the model', async () => {
  for (const outcome of [
    await shared.embed(['fine', ' ']),
    await shared.embedQuery('', soon()),
    await shared.embedQuery('12:30 — 99 %', soon()),
  ]) {
    assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'INVALID_ARGUMENT');
  }
});

test('a query past its deadline fails and one too many is refused', async () => {
  const late = await shared.embedQuery('never asked before', realClock.monotonicMs() - 1);
  assert.equal(late.ok ? 'ok' : late.error.code, 'DEADLINE');
  const long = 'never asked before either '.repeat(300);
  const tooShort = await shared.embedQuery(long, realClock.monotonicMs() + 0.5);
  assert.equal(tooShort.ok ? 'ok' : tooShort.error.code, 'DEADLINE');
  const outcome = await shared.embed(Array.from({ length: 1025 }, () => 'text'));
  assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'OVERLOADED');
});

test('int8 search finds the ten nearest of real sentence vectors that a float32 scan finds', async () => {
  const subjects = [
    'The server',
    'My sister',
    'A red fox',
    'The committee',
    'Our database',
    'The old teacher',
  ];
  const verbs = ['restarted', 'forgot', 'described', 'sold', 'repaired', 'celebrated'];
  const objects = ['the bicycle', 'a long report', 'last winter', 'the broken index', 'her birthday cake'];
  const texts = subjects.flatMap((subject) =>
    verbs.flatMap((verb) => objects.map((object) => `${subject} ${verb} ${object}.`)),
  );
  const outcome = await shared.embed(texts);
  assert.ok(outcome.ok);
  const vectors = outcome.value;
  const index = new VectorIndex(shared.dim);
  for (const [rid, vector] of vectors.entries()) {
    assert.ok(index.put({ rid, nsId: 1, firstOwner: 0, secondOwner: 0, vectors: vector }).ok);
  }
  const load = (rids: readonly number[]) => new Map(rids.map((rid) => [rid, vectors[rid]!]));
  for (const queryVector of vectors.slice(0, 60)) {
    const unit = unitVector(queryVector);
    const exact = vectors
      .map((vector, rid) => ({ rid, cosine: dot(unit, vector) }))
      .sort((left, right) => right.cosine - left.cosine || left.rid - right.rid)
      .slice(0, 10);
    const { hits } = index.search({ queryVector, nsIds: null, ownerSlots: null, k: 10 }, load);
    assert.deepEqual(new Set(hits.map(({ rid }) => rid)), new Set(exact.map(({ rid }) => rid)));
  }
});

test('unloads after idling and loads again at the next text', async () => {
  const scheduler = heldScheduler();
  const embedder = new BuiltinEmbedder({ clock: realClock, scheduler, log: recordingLog(), idleMs: 12_345 });
  const first = await embedder.embedQuery('idle soon', soon());
  assert.ok(first.ok);
  assert.equal(embedder.state().loaded, true);
  scheduler.run();
  assert.deepEqual(embedder.state(), { loaded: false, failing: false, lastError: null });
  const second = await embedder.embed(['idle soon']);
  assert.ok(second.ok);
  assert.deepEqual(second.value[0], first.value);
  await embedder.close();
  const closed = await embedder.embed(['too late']);
  assert.equal(closed.ok ? 'ok' : closed.error.code, 'SHUTTING_DOWN');
});

test('a thread that cannot load fails open and later calls at once, and is tried again after the back-off', async () => {
  let offsetMs = 0;
  const clock = { ...realClock, monotonicMs: () => realClock.monotonicMs() + offsetMs };
  const log = recordingLog();
  const entry = new URL('data:text/javascript,throw new Error("no weights here")');
  const embedder = new BuiltinEmbedder({ clock, scheduler: realScheduler, log, entry });
  const open = await Promise.all([embedder.embed(['a', 'b']), embedder.embedQuery('word', soon())]);
  for (const outcome of open) {
    assert.equal(outcome.ok ? 'ok' : outcome.error.code, 'UNAVAILABLE');
  }
  assert.deepEqual(embedder.state(), { loaded: false, failing: true, lastError: 'no weights here' });
  const failures = () => log.lines.filter((line) => line.startsWith('the embedder failed')).length;
  assert.equal(failures(), 1);
  const refused = await embedder.embed(['c']);
  assert.equal(refused.ok ? 'ok' : refused.error.code, 'UNAVAILABLE');
  assert.equal(failures(), 1);
  offsetMs += 1_500;
  assert.equal((await embedder.embed(['d'])).ok, false);
  assert.equal(failures(), 2);
  offsetMs += 1_500;
  assert.equal((await embedder.embed(['e'])).ok, false);
  assert.equal(failures(), 2);
  await embedder.close();
});

test('nothing is printed to stdout and an idle embedder lets the process end', () => {
  const script = fileURLToPath(new URL('./embed-once.js', import.meta.url));
  const child = spawnSync(process.execPath, [script], { encoding: 'utf8', timeout: 60_000 });
  assert.equal(child.signal, null, 'the process did not end');
  assert.equal(child.status, 7, child.stderr);
  assert.equal(child.stdout, '');
});

test('what the libraries of the thread print goes to the log', async () => {
  const log = recordingLog();
  const output = new URL('../../../node/semantics/thread-output.js', import.meta.url);
  const source = `import ${JSON.stringify(output.href)}; console.log('chatter'); throw new Error('enough');`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const embedder = new BuiltinEmbedder({ ...seams, log, entry });
  assert.equal((await embedder.embed(['a'])).ok, false);
  await embedder.close();
  assert.ok(log.lines.some((line) => line.includes('chatter')));
});
