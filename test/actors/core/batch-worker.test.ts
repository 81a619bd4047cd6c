import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatchWorker, type BatchWorkerOptions } from '../../../actors/core/batch-worker.js';
import type { Lane } from '../../../actors/core/mailbox.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { FakeScheduler } from '../fake-scheduler.js';
import { FakePort } from './fake-port.js';

const setUp = (options: Partial<BatchWorkerOptions> = {}) => {
  const time = new FakeScheduler();
  const faults: string[] = [];
  const worker = new BatchWorker<number, string>({
    name: 'writer',
    clock: time,
    scheduler: time,
    mailbox: { messagesMax: 100, bytesMax: 1000 },
    batchMessagesMax: 10,
    batchBytesMax: 100,
    onFault: (error) => faults.push(error.message),
    ...options,
  });
  const ask = (
    command: number,
    { inMs = 1000, sizeBytes = 1, lane = 'interactive' as Lane, from = '' } = {},
  ) => worker.ask(command, sizeBytes, { deadlineMs: time.monotonicMs() + inMs, lane, from });
  const attach = (): FakePort => {
    const port = new FakePort();
    worker.attach(port);
    return port;
  };
  return { time, worker, faults, ask, attach };
};

const codeOf = (result: Result<string>): string => (result.ok ? result.value : result.error.code);
const codes = async (asks: Promise<Result<string>>[]): Promise<string[]> =>
  (await Promise.all(asks)).map(codeOf);

describe('batch worker', () => {
  it('sends what was asked in one turn as one batch, and what gathered meanwhile as the next', async () => {
    const { time, ask, attach } = setUp();
    const port = attach();
    const asks = [ask(1), ask(2)];
    await time.settle();
    asks.push(ask(3), ask(4), ask(5));
    await time.settle();
    assert.deepEqual(port.posted, [[1, 2]], 'one batch in flight');
    port.answer();
    assert.deepEqual(
      port.posted,
      [
        [1, 2],
        [3, 4, 5],
      ],
      'no timer and no turn between',
    );
    port.answer();
    assert.deepEqual(await codes(asks), ['done 1', 'done 2', 'done 3', 'done 4', 'done 5']);
    assert.equal(time.pending, 0);
  });

  it('puts what was asked while it gathers into one batch', async () => {
    const gathering: (() => void)[] = [];
    const { time, ask, attach } = setUp({ gather: (dispatch) => gathering.push(dispatch) });
    const port = attach();
    gathering.pop()?.();
    ask(1);
    await time.settle();
    ask(2);
    await time.settle();
    assert.deepEqual([port.posted, gathering.length], [[], 1]);
    gathering.pop()!();
    assert.deepEqual(port.posted, [[1, 2]]);
    ask(3);
    await time.settle();
    assert.deepEqual([port.posted.length, gathering.length], [1, 1]);
  });

  it('bounds a batch in messages and in bytes', async () => {
    const { time, ask, attach } = setUp({ batchMessagesMax: 3, batchBytesMax: 10 });
    const port = attach();
    port.inline = true;
    for (const [command, sizeBytes] of [
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [5, 9],
      [6, 1],
      [7, 50],
    ] as const)
      void ask(command, { sizeBytes });
    await time.settle();
    assert.deepEqual(port.posted, [[1, 2, 3], [4, 5], [6], [7]]);
  });

  it('sends interactive asks before background ones', async () => {
    const { time, ask, attach } = setUp();
    const port = attach();
    void ask(1, { lane: 'background' });
    void ask(2);
    await time.settle();
    assert.deepEqual(port.posted, [[2, 1]]);
  });

  it('keeps as many batches in flight as its depth and matches their results in order', async () => {
    const { time, ask, attach } = setUp({ batchesInFlightMax: 2, batchMessagesMax: 1 });
    const port = attach();
    const asks = [ask(1), ask(2), ask(3)];
    await time.settle();
    assert.deepEqual(port.posted, [[1], [2]]);
    while (port.answer());
    assert.deepEqual(await codes(asks), ['done 1', 'done 2', 'done 3']);
  });

  it('shares the queue between ports, so that a slow one holds back only its own batch', async () => {
    const { time, worker, ask, attach } = setUp({ portsMax: 2 });
    const slow = attach();
    const quick = attach();
    const first = [ask(1), ask(2), ask(3)];
    await time.settle();
    assert.deepEqual([slow.posted, quick.posted], [[[1, 2]], [[3]]]);
    quick.answer();
    const second = ask(4);
    await time.settle();
    quick.answer();
    assert.equal(codeOf(await second), 'done 4');
    assert.equal(worker.stats().batchesInFlight, 1);
    slow.answer();
    assert.deepEqual(await codes(first), ['done 1', 'done 2', 'done 3']);
  });

  it('leaves a busy port its share of the queue', async () => {
    const { time, ask, attach } = setUp({ portsMax: 2 });
    const slow = attach();
    const quick = attach();
    const asks = [ask(1), ask(2)];
    await time.settle();
    asks.push(ask(3), ask(4), ask(5), ask(6));
    quick.answer();
    await time.settle();
    assert.deepEqual([slow.posted, quick.posted], [[[1]], [[2], [3, 4]]]);
    slow.answer();
    quick.answer();
    await time.settle();
    assert.deepEqual([slow.posted.at(-1), quick.posted.at(-1)], [[5], [6]]);
    slow.answer();
    quick.answer();
    assert.deepEqual(
      (await codes(asks)).toSorted(),
      asks.map((_, at) => `done ${at + 1}`),
    );
  });

  it('refuses a second port where commands must not run in parallel that must', () => {
    const { attach } = setUp();
    attach();
    assert.throws(() => attach(), /in parallel that must/);
  });

  it('passes on domain errors as values, each to its own ask', async () => {
    const { time, ask, attach } = setUp();
    const port = attach();
    const asks = [ask(1), ask(2)];
    await time.settle();
    port.answer((command) => (command === 1 ? fail('CONFLICT', 'taken') : ok('stored')));
    assert.deepEqual(await codes(asks), ['CONFLICT', 'stored']);
  });

  it('answers OVERLOADED at once when its queue is full, in messages or in bytes', async () => {
    const { ask } = setUp({ mailbox: { messagesMax: 2, bytesMax: 10 } });
    void ask(1, { sizeBytes: 6 });
    assert.equal(codeOf(await ask(2, { sizeBytes: 5 })), 'OVERLOADED');
    void ask(3, { sizeBytes: 4 });
    assert.equal(codeOf(await ask(4, { sizeBytes: 0 })), 'OVERLOADED');
  });

  it('gives the room of expired asks back to new ones while it has no port', async () => {
    const { time, worker, ask } = setUp({ mailbox: { messagesMax: 2, bytesMax: 10 } });
    const old = [ask(1, { inMs: 50 }), ask(2, { inMs: 50 })];
    await time.advance(60);
    assert.deepEqual(await codes(old), ['DEADLINE', 'DEADLINE']);
    void ask(3);
    assert.equal(worker.stats().queued, 1);
    assert.equal(worker.stats().queuedBytes, 1);
  });

  it('never executes an ask whose deadline passed in the queue', async () => {
    const { time, ask, attach } = setUp();
    const port = attach();
    const first = ask(1);
    await time.settle();
    const late = ask(2, { inMs: 30 });
    const live = ask(3);
    await time.advance(30);
    port.answer();
    port.answer();
    assert.deepEqual(await codes([first, late, live]), ['done 1', 'DEADLINE', 'done 3']);
    assert.deepEqual(port.posted, [[1], [3]]);
  });

  it('checks deadlines when it drains, even if no timer has noticed them', async () => {
    const { time, ask, attach } = setUp();
    void ask(1, { inMs: 100 });
    // The sweep for the first ask stands at 100 ms and serves this one, up to its tolerance.
    const late = ask(2, { inMs: 95 });
    await time.advance(97);
    const port = attach();
    await time.settle();
    assert.deepEqual(port.posted, [[1]]);
    const result = await late;
    assert.ok(
      !result.ok && result.error.code === 'DEADLINE' && /nothing was done/.test(result.error.message),
    );
  });

  it('refuses an ask that comes after its deadline', async () => {
    const { time, worker, ask } = setUp();
    assert.equal(codeOf(await ask(1, { inMs: 0 })), 'DEADLINE');
    assert.deepEqual([worker.stats().queued, time.pending], [0, 0]);
  });

  it('answers DEADLINE for an ask in flight and drops the result that comes later', async () => {
    const { time, ask, attach } = setUp();
    const port = attach();
    const slow = ask(1, { inMs: 50 });
    await time.advance(50);
    assert.equal(codeOf(await slow), 'DEADLINE');
    const next = ask(2);
    port.answer();
    await time.settle();
    port.answer();
    assert.equal(codeOf(await next), 'done 2');
  });

  it('fails what was in flight when its port exits, and sends what was queued to the next port', async () => {
    const { time, worker, ask, attach } = setUp();
    const port = attach();
    const inFlight = ask(1);
    await time.settle();
    const queued = ask(2);
    port.exit();
    assert.equal(codeOf(await inFlight), 'ACTOR_RESTARTED');
    assert.deepEqual(worker.stats(), { queued: 1, queuedBytes: 1, batchesInFlight: 0, pending: 1, ports: 0 });
    const next = attach();
    await time.settle();
    next.answer();
    assert.equal(codeOf(await queued), 'done 2');
    assert.deepEqual(port.posted, [[1]]);
  });

  it('ignores a port after it has exited', async () => {
    const { time, faults, ask, attach } = setUp();
    const port = attach();
    const first = ask(1);
    await time.settle();
    port.exit();
    const next = attach();
    const second = ask(2);
    await time.settle();
    port.answer(() => ok('from the grave'));
    port.exit();
    next.answer();
    assert.deepEqual(await codes([first, second]), ['ACTOR_RESTARTED', 'done 2']);
    assert.deepEqual(faults, []);
  });

  it('lets go of a port whose results do not match its batch, and tells of the fault', async () => {
    const { time, worker, faults, ask, attach } = setUp();
    const port = attach();
    const asks = [ask(1), ask(2)];
    await time.settle();
    port.send([ok('one'), ok('two'), ok('three')]);
    assert.deepEqual(await codes(asks), ['ACTOR_RESTARTED', 'ACTOR_RESTARTED']);
    assert.deepEqual(faults, ['writer: 3 results for a batch of 2']);
    assert.equal(worker.stats().ports, 0);
  });

  it('queues the rest of a batch again whose time was over, and lets others have their turn before it', async () => {
    const { time, worker, faults, ask, attach } = setUp();
    const port = attach();
    const asks = [1, 2, 3].map((command) => ask(command, { from: 'a' }));
    await time.settle();
    const other = ask(4, { from: 'b' });
    port.send([ok('done 1')]);
    await time.settle();
    assert.deepEqual(port.posted, [
      [1, 2, 3],
      [4, 2, 3],
    ]);
    port.send([ok('done 4'), ok('done 2'), ok('done 3')]);
    assert.deepEqual(await codes([...asks, other]), ['done 1', 'done 2', 'done 3', 'done 4']);
    assert.deepEqual([faults, worker.stats().queuedBytes], [[], 0]);
  });

  it('lets go of a port that answers without having been asked', () => {
    const { worker, faults, attach } = setUp();
    attach().send([ok('unasked')]);
    assert.deepEqual(faults, ['writer: 1 results for no batch in flight']);
    assert.equal(worker.stats().ports, 0);
  });

  it('answers INTERNAL for a batch that its port throws at, and keeps the rest for the next port', async () => {
    const { time, faults, ask, attach } = setUp({ batchMessagesMax: 1 });
    const port = attach();
    port.postError = new Error('could not be cloned');
    const asks = [ask(1), ask(2)];
    await time.settle();
    assert.deepEqual(faults, ['could not be cloned']);
    attach().inline = true;
    assert.deepEqual(await codes(asks), ['INTERNAL', 'done 2']);
  });

  it('serves a port that answers inside post without growing the stack', async () => {
    const { time, ask, attach } = setUp({
      mailbox: { messagesMax: 50_000, bytesMax: 50_000 },
      batchMessagesMax: 1,
    });
    attach().inline = true;
    const asks = Array.from({ length: 20_000 }, (_, command) => ask(command));
    const results = await codes(asks);
    assert.equal(results.at(-1), 'done 19999');
    assert.equal(time.pending, 0);
  });
});

describe('batch worker that stops', () => {
  it('refuses new asks, finishes what is queued, and is then drained', async () => {
    const { time, worker, ask, attach } = setUp();
    const port = attach();
    const asks = [ask(1)];
    await time.settle();
    asks.push(ask(2));
    const stopped = worker.stop(time.monotonicMs() + 5000);
    assert.equal(codeOf(await ask(3)), 'SHUTTING_DOWN');
    assert.equal(worker.stop(0), stopped);
    while (port.answer());
    assert.deepEqual(await codes(asks), ['done 1', 'done 2']);
    assert.equal(await stopped, 'drained');
    assert.equal(time.pending, 0);
  });

  it('is drained at once when it is idle', async () => {
    const { time, worker, attach } = setUp();
    attach();
    assert.equal(await worker.stop(time.monotonicMs() + 1), 'drained');
    assert.equal(time.pending, 0);
  });

  it('waits for a batch whose callers have given up', async () => {
    const { time, worker, ask, attach } = setUp();
    const port = attach();
    void ask(1, { inMs: 50 });
    await time.settle();
    let outcome: string | null = null;
    void worker.stop(time.monotonicMs() + 5000).then((value) => {
      outcome = value;
    });
    await time.advance(1000);
    assert.equal(outcome, null);
    port.answer();
    await time.settle();
    assert.equal(outcome, 'drained');
  });

  it('gives its queue to a port that comes while it drains', async () => {
    const { time, worker, ask, attach } = setUp();
    const queued = ask(1);
    const stopped = worker.stop(time.monotonicMs() + 5000);
    await time.advance(100);
    attach().inline = true;
    assert.equal(codeOf(await queued), 'done 1');
    assert.equal(await stopped, 'drained');
  });

  it('ends when the last deadline has passed, if no port comes', async () => {
    const { time, worker, ask } = setUp();
    const queued = ask(1, { inMs: 200 });
    const stopped = worker.stop(time.monotonicMs() + 5000);
    await time.advance(200);
    assert.equal(codeOf(await queued), 'DEADLINE');
    assert.equal(await stopped, 'drained');
    assert.equal(time.pending, 0);
  });

  it('cuts short at its own deadline and tells the queued from those in flight', async () => {
    const { time, worker, ask, attach } = setUp();
    const port = attach();
    const inFlight = ask(1, { inMs: 10_000 });
    await time.settle();
    const queued = ask(2, { inMs: 10_000 });
    const stopped = worker.stop(time.monotonicMs() + 500);
    await time.advance(500);
    assert.equal(await stopped, 'cut-short');
    assert.deepEqual(await codes([inFlight, queued]), ['ACTOR_RESTARTED', 'SHUTTING_DOWN']);
    port.answer();
    const straggler = attach();
    await time.settle();
    assert.deepEqual([straggler.posted, worker.stats().ports, time.pending], [[], 0, 0]);
  });
});
