import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Lane, Mailbox } from '../../../actors/core/mailbox.js';
import fc from '../../support/properties.js';

interface Message {
  readonly id: number;
  readonly sizeBytes: number;
  readonly lane: Lane;
}

type Step =
  | { readonly kind: 'offer'; readonly sizeBytes: number; readonly lane: Lane }
  | { readonly kind: 'take'; readonly messages: number; readonly bytes: number }
  | { readonly kind: 'remove'; readonly modulus: number };

const laneArbitrary = fc.constantFrom<Lane>('interactive', 'background');
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('offer' as const), sizeBytes: fc.nat(40), lane: laneArbitrary }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      messages: fc.integer({ min: 1, max: 20 }),
      bytes: fc.integer({ min: 1, max: 100 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('remove' as const), modulus: fc.integer({ min: 2, max: 5 }) }),
  },
);

/** The obvious mailbox: one sorted list. */
class Model {
  queue: Message[] = [];

  constructor(
    readonly messagesMax: number,
    readonly bytesMax: number,
  ) {}

  get bytes(): number {
    return this.queue.reduce((sum, message) => sum + message.sizeBytes, 0);
  }

  ordered(): Message[] {
    const lane = (name: Lane) => this.queue.filter((message) => message.lane === name);
    return [...lane('interactive'), ...lane('background')];
  }

  offer(message: Message): boolean {
    const fits = this.queue.length < this.messagesMax && this.bytes + message.sizeBytes <= this.bytesMax;
    if (fits) this.queue.push(message);
    return fits;
  }

  take(messages: number, bytes: number): Message[] {
    const batch: Message[] = [];
    let sum = 0;
    for (const message of this.ordered()) {
      if (batch.length === messages) break;
      if (batch.length > 0 && sum + message.sizeBytes > bytes) break;
      batch.push(message);
      sum += message.sizeBytes;
    }
    this.queue = this.queue.filter((message) => !batch.includes(message));
    return batch;
  }
}

describe('mailbox', () => {
  it('behaves like one sorted list under any sequence of offers, takes and removals', () => {
    const limits = fc.record({
      messagesMax: fc.integer({ min: 1, max: 60 }),
      bytesMax: fc.integer({ min: 1, max: 800 }),
    });
    fc.assert(
      fc.property(
        limits,
        fc.array(stepArbitrary, { maxLength: 200, size: 'max' }),
        ({ messagesMax, bytesMax }, steps) => {
          const mailbox = new Mailbox<Message>({ messagesMax, bytesMax });
          const model = new Model(messagesMax, bytesMax);
          steps.forEach((step, id) => {
            if (step.kind === 'offer') {
              const message = { id, sizeBytes: step.sizeBytes, lane: step.lane };
              assert.equal(mailbox.offer(message, message.sizeBytes, message.lane), model.offer(message));
            } else if (step.kind === 'take') {
              assert.deepEqual(
                mailbox.take(step.messages, step.bytes),
                model.take(step.messages, step.bytes),
              );
            } else {
              const dead = (message: Message) => message.id % step.modulus === 0;
              const removed = model.queue.filter(dead).length;
              model.queue = model.queue.filter((message) => !dead(message));
              assert.equal(mailbox.removeWhere(dead), removed);
            }
            assert.equal(mailbox.size, model.queue.length);
            assert.equal(mailbox.sizeBytes, model.bytes);
          });
          const rest: Message[] = [];
          const expected = model.ordered();
          mailbox.close((message) => rest.push(message));
          assert.deepEqual(rest, expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('takes interactive messages before background ones that came first', () => {
    const mailbox = new Mailbox<string>({ messagesMax: 8, bytesMax: 8 });
    mailbox.offer('backfill', 1, 'background');
    mailbox.offer('store', 1, 'interactive');
    assert.deepEqual(mailbox.take(8, 8), ['store', 'backfill']);
  });

  it('takes a lone message that is larger than the batch', () => {
    const mailbox = new Mailbox<string>({ messagesMax: 8, bytesMax: 100 });
    mailbox.offer('small', 1, 'interactive');
    mailbox.offer('large', 50, 'interactive');
    mailbox.offer('next', 1, 'interactive');
    assert.deepEqual(mailbox.take(8, 10), ['small']);
    assert.deepEqual(mailbox.take(8, 10), ['large']);
    assert.deepEqual(mailbox.take(8, 10), ['next']);
  });

  it('refuses when full and has room again after a take', () => {
    const mailbox = new Mailbox<number>({ messagesMax: 2, bytesMax: 10 });
    assert.equal(mailbox.offer(1, 5, 'interactive'), true);
    assert.equal(mailbox.offer(2, 6, 'interactive'), false, 'bytes');
    assert.equal(mailbox.offer(2, 5, 'background'), true);
    assert.equal(mailbox.offer(3, 0, 'interactive'), false, 'messages');
    mailbox.take(1, 10);
    assert.equal(mailbox.offer(3, 5, 'interactive'), true);
  });

  it('hands over what is queued once when it closes, and refuses from then on', () => {
    const mailbox = new Mailbox<number>({ messagesMax: 4, bytesMax: 4 });
    mailbox.offer(1, 1, 'background');
    mailbox.offer(2, 1, 'interactive');
    const failed: number[] = [];
    mailbox.close((message) => failed.push(message));
    mailbox.close((message) => failed.push(message));
    assert.deepEqual(failed, [2, 1]);
    assert.equal(mailbox.offer(3, 1, 'interactive'), false);
    assert.deepEqual(mailbox.take(4, 4), []);
    assert.deepEqual([mailbox.size, mailbox.sizeBytes, mailbox.closed], [0, 0, true]);
  });

  it('throws on a size that would break its count of bytes', () => {
    const mailbox = new Mailbox<number>({ messagesMax: 4, bytesMax: 4 });
    assert.throws(() => mailbox.offer(1, Number.NaN, 'interactive'));
    assert.throws(() => mailbox.offer(1, -1, 'interactive'));
  });
});
