import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeferredTouches, type Keeping } from '../../../node/runtime/touch-queue.js';
import { Screen } from '../../../node/secrets/screen.js';
import { OBSERVATIONS_BATCH_MAX, OBSERVATIONS_PENDING_MAX } from '../../../protocol/base/ledger-limits.js';
import {
  EXTEND_SECONDS,
  PROMOTE_ACCESS_COUNT,
  TOUCH_BATCH_MAX,
  TOUCH_FLUSH_INTERVAL_MS,
  TOUCHES_PENDING_MAX,
} from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { RecallObservation } from '../../../protocol/memory/recall-ledger.js';
import type { TouchMemories } from '../../../protocol/memory/touch.js';
import type { Command } from '../../../protocol/release.js';
import type { CallOptions, Store } from '../../../storage/port.js';
import { FakeScheduler } from '../../actors/fake-scheduler.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';

const AT = '2026-07-28T12:00:00.000Z';
const LATER = '2026-07-28T12:00:01.000Z';

/** A store that keeps the touches it is given, and answers as it is told. */
class RecordingStore implements Store {
  readonly commands: TouchMemories[] = [];
  readonly options: CallOptions[] = [];
  answer: () => Promise<Result<unknown>> = () => Promise.resolve(ok({ touched: 0, promoted: [] }));

  execute(command: Command, options: CallOptions = {}): never {
    this.commands.push(command as TouchMemories);
    this.options.push(options);
    return this.answer() as never;
  }
  query(): never {
    throw new Error('a touch reads nothing');
  }
  selfCheck(): never {
    throw new Error('a touch checks nothing');
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
  get touched(): string[] {
    return this.commands.flatMap((command) => command.touches.map((touch) => touch.id));
  }
}

function fixture(keeps: Keeping = { recalls: true, trace: true }) {
  const store = new RecordingStore();
  const scheduler = new FakeScheduler();
  const log = recordingLog();
  const screen = new Screen({ secretsMode: 'redact', secretsNamespaces: [] });
  const touches = new DeferredTouches({ store, scheduler, log, screen, keeps });
  return { store, scheduler, log, touches };
}

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `m${from + index}`);

describe('touches', () => {
  it('wait for the interval and are then written in the background lane', async () => {
    const { store, scheduler, touches } = fixture();
    touches.touch(['a', 'b'], AT);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS - 1);
    assert.equal(store.commands.length, 0);
    await scheduler.advance(1);
    assert.deepEqual(store.commands, [
      {
        kind: 'touch-memories',
        touches: [
          { id: 'a', count: 1, lastAt: AT },
          { id: 'b', count: 1, lastAt: AT },
        ],
        policy: { extendSeconds: EXTEND_SECONDS, promoteAccessCount: PROMOTE_ACCESS_COUNT },
      },
    ]);
    assert.deepEqual(store.options, [{ lane: 'background' }]);
  });

  it('of one memory become one, with their number and the last instant', async () => {
    const { store, scheduler, touches } = fixture();
    touches.touch(['a', 'b', 'a'], AT);
    touches.touch(['a'], LATER);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(store.commands[0]!.touches, [
      { id: 'a', count: 3, lastAt: LATER },
      { id: 'b', count: 1, lastAt: AT },
    ]);
  });

  it('take one timer however many there are, and none when there are none', async () => {
    const { scheduler, touches } = fixture();
    touches.touch([], AT);
    assert.equal(scheduler.pending, 0);
    for (let n = 0; n < 50; n += 1) touches.touch(ids(5, n), AT);
    assert.equal(scheduler.pending, 1);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.equal(scheduler.pending, 0, 'an idle queue wakes nobody');
  });

  it('are bounded: what finds the queue full is dropped and counted, but a known memory still counts', async () => {
    const { store, scheduler, touches } = fixture();
    touches.touch(ids(TOUCHES_PENDING_MAX), AT);
    touches.touch(['one more', 'm0', 'another'], LATER);
    assert.equal(touches.dropped, 2);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.equal(store.touched.length, TOUCHES_PENDING_MAX);
    assert.deepEqual(store.commands[0]!.touches[0], { id: 'm0', count: 2, lastAt: LATER });
    touches.touch(['one more'], LATER);
    assert.equal(touches.dropped, 2, 'there is room again');
  });

  it('are written in batches of a bounded size, one after the other', async () => {
    const { store, scheduler, touches } = fixture();
    let writing = 0;
    store.answer = async () => {
      writing += 1;
      assert.equal(writing, 1, 'two batches at a time');
      await scheduler.settle();
      writing -= 1;
      return ok({});
    };
    const all = ids(2 * TOUCH_BATCH_MAX + 1);
    touches.touch(all, AT);
    await touches.flush();
    assert.deepEqual(
      store.commands.map((command) => command.touches.length),
      [TOUCH_BATCH_MAX, TOUCH_BATCH_MAX, 1],
    );
    assert.deepEqual(store.touched, all);
  });

  it('that come while others are written are written after them', async () => {
    const { store, scheduler, touches } = fixture();
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.answer = async () => {
      await held;
      return ok({});
    };
    touches.touch(['a'], AT);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    touches.touch(['a', 'b'], LATER);
    await scheduler.advance(10 * TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(store.touched, ['a']);
    release();
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(store.touched, ['a', 'a', 'b']);
  });
});

describe('closing the touches', () => {
  it('writes what is pending without waiting for the interval, and ignores what comes later', async () => {
    const { store, scheduler, touches } = fixture();
    touches.touch(['a'], AT);
    await touches.close();
    assert.deepEqual(store.touched, ['a']);
    assert.equal(scheduler.pending, 0);
    touches.touch(['b'], LATER);
    await scheduler.advance(10 * TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(store.touched, ['a']);
  });

  it('waits for a write that is under way, and writes what came meanwhile', async () => {
    const { store, scheduler, touches } = fixture();
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.answer = async () => {
      await held;
      return ok({});
    };
    touches.touch(['a'], AT);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    touches.touch(['b'], AT);
    let closed = false;
    const closing = touches.close().then(() => {
      closed = true;
    });
    await scheduler.settle();
    assert.equal(closed, false);
    release();
    await closing;
    assert.deepEqual(store.touched, ['a', 'b']);
  });

  it('with nothing pending, or twice, asks nothing of the store', async () => {
    const { store, touches } = fixture();
    await touches.close();
    await touches.close();
    assert.equal(store.commands.length, 0);
  });
});

describe('a store that fails', () => {
  const unhandled: unknown[] = [];
  const collect = (reason: unknown) => void unhandled.push(reason);

  it('with a value costs the touches, which are logged, and nothing else', async () => {
    const { store, scheduler, log, touches } = fixture();
    store.answer = () => Promise.resolve(fail('OVERLOADED', 'full'));
    touches.touch(['a'], AT);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(log.lines, ['touches were dropped {"code":"OVERLOADED"}']);
    touches.touch(['b'], AT);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.deepEqual(store.touched, ['a', 'b']);
  });

  it('with an exception is logged, never unhandled, and the next touches are written', async () => {
    process.on('unhandledRejection', collect);
    try {
      const { store, scheduler, log, touches } = fixture();
      store.answer = () => Promise.reject(new Error('broken'));
      touches.touch(['a'], AT);
      await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
      assert.equal(log.lines.length, 1);
      assert.match(log.lines[0]!, /^touches could not be written/);
      store.answer = () => Promise.resolve(ok({}));
      touches.touch(['b'], AT);
      await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
      assert.deepEqual(store.touched, ['a', 'b']);
      assert.deepEqual(unhandled, []);
    } finally {
      process.off('unhandledRejection', collect);
    }
  });
});

describe('observations', () => {
  const observation = (recallId: string, rows = 2): RecallObservation => ({
    recallId,
    agentId: 'ai:x',
    retriever: 'keyword',
    observedAt: AT,
    memoryIds: ids(rows),
    scores: ids(rows).map(() => 0.5),
  });
  const consumption = { recallId: 'r', agentId: null, memoryId: 'm', consumedAt: AT };

  it('go with the touches in one command, and what was consumed with the last of them', async () => {
    const { store, scheduler, touches } = fixture();
    touches.touch(['a'], AT);
    touches.observe(observation('r'));
    touches.consume(consumption);
    await scheduler.advance(TOUCH_FLUSH_INTERVAL_MS);
    assert.equal(store.commands.length, 1);
    assert.deepEqual(store.commands[0]?.observations, [observation('r')]);
    assert.deepEqual(store.commands[0]?.consumptions, [consumption]);
    assert.deepEqual(store.options, [{ lane: 'background' }]);
  });

  it('are written even when nothing was touched, and an empty recall leaves none', async () => {
    const { store, touches } = fixture();
    touches.observe(observation('empty', 0));
    await touches.flush();
    assert.equal(store.commands.length, 0);
    touches.observe(observation('r'));
    await touches.flush();
    assert.equal(store.commands.length, 1);
  });

  it('are bounded: a recall beyond the bound leaves none, and the count says so', async () => {
    const { store, touches } = fixture();
    for (let n = 0; n < OBSERVATIONS_PENDING_MAX + 3; n += 1) touches.observe(observation(`r${n}`));
    touches.consume(consumption);
    assert.equal(touches.observationsDropped, 3);
    await touches.flush();
    const written = store.commands.flatMap((command) => command.observations ?? []);
    assert.deepEqual(
      written.map(({ recallId }) => recallId),
      Array.from({ length: OBSERVATIONS_PENDING_MAX }, (_, n) => `r${n}`),
    );
    for (const command of store.commands) {
      const size = command.observations?.length ?? 0;
      assert.ok(size <= OBSERVATIONS_BATCH_MAX, `${size} recalls`);
    }
    assert.deepEqual(
      store.commands.map((command) => command.consumptions?.length ?? 0),
      store.commands.map((_, index) => (index === store.commands.length - 1 ? 1 : 0)),
      'a recall is consumed after all that waited before',
    );
    touches.observe(observation('later'));
    assert.equal(touches.observationsDropped, 3, 'there is room again');
  });
});
