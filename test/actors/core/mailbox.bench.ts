/**
 * Cost of one message in the mailbox, beside two limits from the same run: an array filled and dropped whole, and the
 * promise that every ask needs anyway. Run: `node <build>/test/actors/core/mailbox.bench.js`.
 */
import { PendingReplies } from '../../../actors/core/ask.js';
import { BatchWorker } from '../../../actors/core/batch-worker.js';
import { Mailbox } from '../../../actors/core/mailbox.js';
import { ok, type Result } from '../../../protocol/base/result.js';

const MESSAGES = 256;
const ROUNDS = 4000;
const message = { kind: 'store' };
const answer = ok('stored');
const seams = {
  clock: { monotonicMs: () => performance.now() },
  scheduler: {
    after: (delayMs: number, run: () => void) => {
      const timer = setTimeout(run, delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
  },
};

const nsPerMessage = async (rounds: number, round: () => unknown): Promise<number> => {
  for (let warm = 0; warm < rounds / 4; warm += 1) await round();
  const startMs = performance.now();
  for (let index = 0; index < rounds; index += 1) await round();
  return ((performance.now() - startMs) * 1e6) / (rounds * MESSAGES);
};
const print = (label: string, ns: number): void =>
  console.log(`${ns.toFixed(0).padStart(6)} ns/message  ${label}`);

print(
  'limit: array push, then dropped whole',
  await nsPerMessage(ROUNDS, () => {
    const batch: unknown[] = [];
    for (let index = 0; index < MESSAGES; index += 1) batch.push(message);
    return batch.length;
  }),
);

const mailbox = new Mailbox<unknown>({ messagesMax: 8192, bytesMax: 1 << 26 });
print(
  'mailbox: offer, take 256 at a time',
  await nsPerMessage(ROUNDS, () => {
    for (let index = 0; index < MESSAGES; index += 1)
      mailbox.offer(message, 100, index % 4 === 0 ? 'background' : 'interactive');
    return mailbox.take(256, 1 << 20).length;
  }),
);

print(
  'limit: promise made and resolved from outside',
  await nsPerMessage(ROUNDS / 4, () => {
    const resolvers: ((value: unknown) => void)[] = [];
    for (let index = 0; index < MESSAGES; index += 1) new Promise((resolve) => resolvers.push(resolve));
    for (const resolve of resolvers) resolve(answer);
  }),
);

const replies = new PendingReplies<string>(seams);
print(
  'pending replies: register, settle (256 pending)',
  await nsPerMessage(ROUNDS / 4, () => {
    const deadlineMs = performance.now() + 60_000;
    const pending = Array.from({ length: MESSAGES }, () => replies.register(deadlineMs));
    for (const reply of pending) replies.settle(reply, answer);
  }),
);
print(
  'pending replies: register, settle, one at a time (arms and cancels the timer each time)',
  await nsPerMessage(ROUNDS / 4, () => {
    const deadlineMs = performance.now() + 60_000;
    for (let index = 0; index < MESSAGES; index += 1) replies.settle(replies.register(deadlineMs), answer);
  }),
);

const worker = new BatchWorker<unknown, string>({
  ...seams,
  name: 'bench',
  mailbox: { messagesMax: 8192, bytesMax: 1 << 26 },
  batchMessagesMax: 256,
  batchBytesMax: 1 << 20,
  onFault: (error) => {
    throw error;
  },
});
let results: (results: readonly Result<string>[]) => void = () => {};
worker.attach({
  post: (batch) => results(batch.map(() => answer)),
  onResults: (callback) => {
    results = callback;
  },
  onExit: () => {},
});
print(
  'batch worker: ask to answer through an inline port, 256 at a time, awaited',
  await nsPerMessage(ROUNDS / 4, () => {
    const deadlineMs = performance.now() + 60_000;
    return Promise.all(
      Array.from({ length: MESSAGES }, () => worker.ask(message, 100, { deadlineMs, lane: 'interactive' })),
    );
  }),
);
