import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatchWorker } from '../../../actors/core/batch-worker.js';
import { ok, type Result } from '../../../protocol/base/result.js';
import fc from '../../support/properties.js';
import { FakeScheduler } from '../fake-scheduler.js';
import { FakePort } from './fake-port.js';

const MAILBOX = { messagesMax: 12, bytesMax: 60 };
const BATCH_MESSAGES_MAX = 4;
const BATCH_BYTES_MAX = 20;

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      inMs: fc.integer({ min: 0, max: 120 }),
      sizeBytes: fc.integer({ min: 1, max: 25 }),
      lane: fc.constantFrom('interactive' as const, 'background' as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('answer' as const), port: fc.nat(7) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('exit' as const), port: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('attach' as const), inline: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('garble' as const), port: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const), inMs: fc.nat(100) }) },
);

const shape = fc.record({
  portsMax: fc.integer({ min: 1, max: 3 }),
  batchesInFlightMax: fc.integer({ min: 1, max: 3 }),
  steps: fc.array(step, { maxLength: 80, size: 'max' }),
});

interface Asked {
  readonly deadlineMs: number;
  readonly sizeBytes: number;
  readonly answers: Result<string>[];
  answeredAtMs: number;
}

describe('batch worker under any interleaving', () => {
  it('answers every ask once, executes none twice, and tells the truth about what was executed', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(shape, async ({ portsMax, batchesInFlightMax, steps }) => {
        const time = new FakeScheduler();
        const worker = new BatchWorker<number, string>({
          name: 'worker',
          clock: time,
          scheduler: time,
          mailbox: MAILBOX,
          batchMessagesMax: BATCH_MESSAGES_MAX,
          batchBytesMax: BATCH_BYTES_MAX,
          portsMax,
          batchesInFlightMax,
          onFault: () => {},
        });
        const asked: Asked[] = [];
        const ports: FakePort[] = [];
        /** Commands to the instant at which a port got them. */
        const executed = new Map<number, number>();
        let stopDeadlineMs = Number.POSITIVE_INFINITY;

        const newPort = (inline: boolean): void => {
          const port = new FakePort();
          port.inline = inline;
          const post = port.post.bind(port);
          port.post = (batch) => {
            const bytes = batch.reduce((sum, command) => sum + asked[command]!.sizeBytes, 0);
            assert.ok(batch.length >= 1 && batch.length <= BATCH_MESSAGES_MAX);
            assert.ok(batch.length === 1 || bytes <= BATCH_BYTES_MAX);
            for (const command of batch) {
              assert.ok(!executed.has(command), `command ${command} was executed twice`);
              assert.ok(asked[command]!.deadlineMs > time.monotonicMs(), `command ${command} began too late`);
              executed.set(command, time.monotonicMs());
            }
            post(batch);
          };
          worker.attach(port);
          ports.push(port);
        };

        for (const each of steps) {
          const port = 'port' in each && ports.length > 0 ? ports[each.port % ports.length] : undefined;
          if (each.kind === 'ask') {
            const deadlineMs = time.monotonicMs() + each.inMs;
            const record: Asked = { deadlineMs, sizeBytes: each.sizeBytes, answers: [], answeredAtMs: -1 };
            const command = asked.push(record) - 1;
            void worker.ask(command, each.sizeBytes, { deadlineMs, lane: each.lane }).then((result) => {
              record.answers.push(result);
              record.answeredAtMs = time.monotonicMs();
            });
          } else if (each.kind === 'answer') {
            port?.answer();
          } else if (each.kind === 'turn') await time.settle();
          else if (each.kind === 'advance') await time.advance(each.ms);
          else if (each.kind === 'exit') port?.exit();
          else if (each.kind === 'garble') port?.send(new Array(BATCH_MESSAGES_MAX + 1).fill(ok('garbled')));
          else if (each.kind === 'attach' && worker.stats().ports < portsMax) newPort(each.inline);
          else if (each.kind === 'stop' && stopDeadlineMs === Number.POSITIVE_INFINITY) {
            stopDeadlineMs = time.monotonicMs() + each.inMs;
            void worker.stop(stopDeadlineMs);
          }
          const { queued, queuedBytes, batchesInFlight } = worker.stats();
          assert.ok(queued <= MAILBOX.messagesMax && queuedBytes <= MAILBOX.bytesMax);
          assert.ok(batchesInFlight <= portsMax * batchesInFlightMax);
        }

        const outcome = worker.stop(time.monotonicMs() + 1000);
        await time.advance(2000);
        assert.ok(['drained', 'cut-short'].includes(await outcome));
        assert.equal(time.pending, 0);
        assert.deepEqual([worker.stats().pending, worker.stats().queued], [0, 0]);

        asked.forEach(({ deadlineMs, answers, answeredAtMs }, command) => {
          assert.equal(answers.length, 1, `ask ${command} has ${answers.length} answers`);
          assert.ok(answeredAtMs <= deadlineMs + 10, 'nothing waits beyond its deadline and one sweep');
          const answer = answers[0]!;
          const code = answer.ok ? 'ok' : answer.error.code;
          seen.add(code);
          if (answer.ok) assert.equal(answer.value, `done ${command}`);
          if (code === 'ok' || code === 'ACTOR_RESTARTED') assert.ok(executed.has(command));
          if (code === 'OVERLOADED' || code === 'SHUTTING_DOWN') assert.ok(!executed.has(command));
          if (!answer.ok && /nothing was done/.test(answer.error.message)) assert.ok(!executed.has(command));
        });
      }),
      { numRuns: 400 },
    );
    // A property that never meets the failures would prove nothing.
    assert.deepEqual([...seen].sort(), ['ACTOR_RESTARTED', 'DEADLINE', 'OVERLOADED', 'SHUTTING_DOWN', 'ok']);
  });
});
