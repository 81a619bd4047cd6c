import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PendingReplies, type PendingReply } from '../../../actors/core/ask.js';
import { ok, type Result } from '../../../protocol/base/result.js';
import fc from '../../support/properties.js';
import { FakeScheduler } from '../fake-scheduler.js';

const setUp = (onExpired?: (count: number) => void) => {
  const time = new FakeScheduler();
  const seams = { clock: time, scheduler: time };
  const replies = new PendingReplies<number>(onExpired === undefined ? seams : { ...seams, onExpired });
  return { time, replies };
};

const codeOf = (result: Result<number>): string => (result.ok ? 'ok' : result.error.code);

describe('pending replies', () => {
  it('answers DEADLINE at the deadline and not before', async () => {
    const { time, replies } = setUp();
    const reply = replies.register(time.monotonicMs() + 50);
    await time.advance(49);
    assert.equal(reply.settled, false);
    await time.advance(1);
    assert.equal(codeOf(await reply.promise), 'DEADLINE');
  });

  it('keeps the first answer', async () => {
    const { time, replies } = setUp();
    const reply = replies.register(time.monotonicMs() + 50);
    assert.equal(replies.settle(reply, ok(1)), true);
    assert.equal(replies.settle(reply, ok(2)), false);
    assert.equal(replies.failAll('ACTOR_RESTARTED', 'late'), 0);
    assert.deepEqual(await reply.promise, ok(1));
  });

  it('serves a thousand asks with one timer, and holds none when nothing is pending', () => {
    const { time, replies } = setUp();
    const pending = Array.from({ length: 1000 }, (_, index) => replies.register(61_000 - (index % 10)));
    assert.equal(time.timersMade, 1);
    for (const reply of pending) replies.settle(reply, ok(0));
    assert.equal(time.pending, 0);
  });

  it('arms its timer anew when an ask with a nearer deadline comes', async () => {
    const { time, replies } = setUp();
    const far = replies.register(time.monotonicMs() + 60_000);
    const near = replies.register(time.monotonicMs() + 100);
    assert.equal(time.pending, 1);
    await time.advance(100);
    assert.equal(codeOf(await near.promise), 'DEADLINE');
    assert.equal(far.settled, false);
    assert.equal(time.pending, 1);
  });

  it('reports an expiry at most one sweep interval late', async () => {
    const { time, replies } = setUp();
    const deadlines = [100, 101, 105, 109, 95, 130].map((afterMs) => time.monotonicMs() + afterMs);
    const settledAtMs: number[] = [];
    deadlines.forEach((deadlineMs, index) => {
      void replies.register(deadlineMs).promise.then(() => {
        settledAtMs[index] = time.monotonicMs();
      });
    });
    await time.advance(200);
    deadlines.forEach((deadlineMs, index) => {
      const lateMs = settledAtMs[index]! - deadlineMs;
      assert.ok(lateMs >= 0 && lateMs <= 10, `${lateMs} ms late`);
    });
  });

  it('fails all, oldest first, with the code that is asked for', async () => {
    const { time, replies } = setUp();
    const order: number[] = [];
    const pending = [3, 1, 2].map((id) => {
      const reply = replies.register(2000 + id);
      void reply.promise.then(() => order.push(id));
      return reply;
    });
    assert.equal(replies.failAll('ACTOR_RESTARTED', 'ended'), 3);
    for (const reply of pending) assert.equal(codeOf(await reply.promise), 'ACTOR_RESTARTED');
    assert.deepEqual(order, [3, 1, 2]);
    assert.deepEqual([replies.size, time.pending], [0, 0]);
  });

  it('refuses an ask that could wait for ever', () => {
    const { replies } = setUp();
    assert.throws(() => replies.register(Number.POSITIVE_INFINITY));
    assert.throws(() => replies.register(Number.NaN));
  });

  it('outlives a deadline beyond what a timer can hold', async () => {
    const { time, replies } = setUp();
    const reply = replies.register(time.monotonicMs() + 2 ** 33);
    assert.ok(time.nextAtMs! - time.monotonicMs() < 2 ** 31);
    await time.advance(10_000_000);
    assert.equal(reply.settled, false);
  });

  it('settles every ask exactly once under any sequence of answers, failures and passing time', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('register' as const), inMs: fc.nat(200) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), which: fc.nat(50) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(60) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('failAll' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
        let endings = 0;
        const { time, replies } = setUp((count) => {
          endings += count;
        });
        const asks: PendingReply<number>[] = [];
        for (const each of steps) {
          if (each.kind === 'register') asks.push(replies.register(time.monotonicMs() + each.inMs));
          else if (each.kind === 'advance') time.advanceSync(each.ms);
          else if (each.kind === 'failAll') endings += replies.failAll('ACTOR_RESTARTED', 'ended');
          else if (asks.length > 0 && replies.settle(asks[each.which % asks.length]!, ok(each.which)))
            endings += 1;
          assert.equal(replies.size, asks.filter((ask) => !ask.settled).length);
          assert.equal(time.pending, replies.size > 0 ? 1 : 0);
        }
        time.advanceSync(500);
        assert.equal(endings, asks.length);
        assert.equal(time.pending, 0);
        for (const ask of asks) assert.equal(typeof (await ask.promise).ok, 'boolean');
      }),
      { numRuns: 200 },
    );
  });
});
