import { type BackoffPolicy, backoffDelayMs } from '../../actors/core/backoff.js';
import { ChildSlots } from '../../actors/hooks/child-slots.js';
import type { HookOutput, RunTime } from '../../actors/hooks/hook-chain.js';
import {
  HOOK_LATE_MS,
  HOOK_OUTPUT_BYTES_MAX,
  HOOK_REST_MS,
  HOOK_STARTS_MAX,
  HOOK_WAITING_MAX,
} from '../../actors/hooks/limits.js';
import type { Executor } from '../../actors/hooks/registered-hook.js';
import { LineSplitter } from '../line-splitter.js';
import { type ExecutorParts, ownTime } from './exec-hook.js';
import { endProblem, HookProcess } from './hook-process.js';

const BACKOFF: BackoffPolicy = { initialMs: 100, maxMs: 5000, jitter: 0, stableMs: 0 };

/** Longer than any run takes. */
const RESTART_WITHIN_MS = 60_000;

/** How long a child has to end when its input has. */
const GOODBYE_MS = 200;

/** What waits for the next line of the child. */
type Reply = (output: HookOutput) => void;

/**
 * A hook whose program stays: one line of JSON for each event, one line for each decision, one event at a time. A child that
 * ended is started again, later after each failure in a row.
 */
export class DaemonHook implements Executor {
  readonly #turns: ChildSlots;
  #process: HookProcess | null = null;
  #reply: Reply | null = null;
  /** Children that ended before they answered anything, in a row. */
  #failures = 0;
  #nextStartMs = Number.NEGATIVE_INFINITY;
  #lastProblem = '';
  #isClosed = false;

  constructor(
    private readonly command: string,
    private readonly parts: ExecutorParts,
    startNow: boolean,
  ) {
    this.#turns = new ChildSlots(1, HOOK_WAITING_MAX, parts);
    if (startNow) this.#behind(this.#start());
  }

  async run(line: string, { leftMs, ownMs }: RunTime): Promise<HookOutput> {
    const { clock } = this.parts;
    const askedMs = clock.monotonicMs();
    const deadlineMs = askedMs + leftMs;
    const release = await this.#turns.take(deadlineMs);
    if (typeof release === 'string') return { kind: release };
    const { untilMs, isShort } = ownTime(clock, { askedMs, ownMs, deadlineMs });
    let isAsked = false;
    try {
      const problem = await this.#connect(untilMs);
      if (problem !== null) return problem;
      if (clock.monotonicMs() >= untilMs) return { kind: 'timeout' };
      isAsked = true;
      const output = await this.#ask(line, untilMs, ownMs, release);
      return output.kind === 'timeout' && isShort ? { kind: 'busy' } : output;
    } finally {
      // An event that was asked gives its turn back with its answer, which may be late.
      if (!isAsked) release();
    }
  }

  revive(restarts: boolean): void {
    this.#failures = 0;
    this.#nextStartMs = Number.NEGATIVE_INFINITY;
    if (restarts) this.#behind(this.#restart());
  }

  #behind(starting: Promise<unknown>): void {
    starting.catch((error: Error) => this.#failed(error.message));
  }

  /** In its turn, so that no event is lost. */
  async #restart(): Promise<void> {
    const release = await this.#turns.take(this.parts.clock.monotonicMs() + RESTART_WITHIN_MS);
    if (typeof release === 'string') return;
    try {
      const process = this.#process;
      this.#process = null;
      process?.end();
      await this.#start();
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const process = this.#process;
    if (process === null) return;
    process.child.stdin.end();
    const timer = this.parts.scheduler.after(GOODBYE_MS, () => process.end(), { keepAlive: true });
    await process.closed;
    timer.cancel();
  }

  /** Null when a child runs. */
  async #connect(untilMs: number): Promise<HookOutput | null> {
    const { clock, scheduler } = this.parts;
    if (this.#process !== null) return null;
    const waitMs = this.#nextStartMs - clock.monotonicMs();
    if (waitMs > 0 && this.#failures >= HOOK_STARTS_MAX) {
      return {
        kind: 'failed',
        problem: `it failed ${this.#failures} times in a row and rests: ${this.#lastProblem}`,
      };
    }
    if (clock.monotonicMs() + waitMs >= untilMs) return { kind: 'timeout' };
    if (waitMs > 0) {
      await new Promise<void>((resolve) => {
        scheduler.after(waitMs, resolve, { keepAlive: true });
      });
    }
    const problem = await this.#start();
    return problem === null ? null : { kind: 'failed', problem };
  }

  async #start(): Promise<string | null> {
    const refusal = await this.parts.refusal(this.command);
    if (refusal !== null) return refusal;
    if (this.#process !== null) return null;
    if (this.#isClosed) return 'the node is shutting down';
    const started = HookProcess.start(this.command, this.parts.place);
    if (!(started instanceof HookProcess)) {
      this.#failed(started.problem);
      return started.problem;
    }
    this.#process = started;
    const lines = new LineSplitter(HOOK_OUTPUT_BYTES_MAX);
    started.child.stdout.on('data', (chunk: Buffer) => {
      if (this.#process !== started) return;
      for (const each of lines.push(chunk)) this.#take(each === 'too-long' ? null : each.bytes, started);
    });
    void endProblem(started).then((problem) => this.#ended(started, problem ?? 'it ended'));
    const why = await started.started;
    if (why !== null) this.#ended(started, why.problem);
    return why === null ? null : why.problem;
  }

  #take(line: Uint8Array | null, from: HookProcess): void {
    const reply = this.#reply;
    if (line !== null && reply !== null) {
      this.#failures = 0;
      this.#reply = null;
      reply({ kind: 'said', text: Buffer.from(line).toString('utf8') });
      return;
    }
    this.#drop(
      from,
      line === null
        ? `it wrote a line of more than ${HOOK_OUTPUT_BYTES_MAX} bytes`
        : 'it wrote a line without an event',
    );
  }

  /** Ends the child: the next run starts another one. */
  #drop(process: HookProcess, problem: string): void {
    this.#ended(process, problem);
    process.end();
  }

  #ended(process: HookProcess, problem: string): void {
    if (this.#process !== process) return;
    this.#process = null;
    this.#failed(problem);
    const reply = this.#reply;
    this.#reply = null;
    reply?.({ kind: 'failed', problem });
  }

  /** The next start waits, longer after each failure in a row. */
  #failed(problem: string): void {
    this.#lastProblem = problem;
    this.#failures += 1;
    const rests = this.#failures >= HOOK_STARTS_MAX;
    const pauseMs = rests ? HOOK_REST_MS : backoffDelayMs(BACKOFF, this.#failures - 1, 0);
    this.#nextStartMs = this.parts.clock.monotonicMs() + pauseMs;
  }

  /**
   * Sends an event. When its time is over the child may still answer for a while, and is ended when it does not: a slow
   * answer then costs one event, and not the child.
   */
  #ask(line: string, untilMs: number, ownMs: number, release: () => void): Promise<HookOutput> {
    const { clock, scheduler } = this.parts;
    const process = this.#process!;
    return new Promise((resolve) => {
      let late: { cancel(): void } | null = null;
      const timer = scheduler.after(
        Math.max(0, untilMs - clock.monotonicMs()),
        () => {
          resolve({ kind: 'timeout' });
          const leftMs = Math.max(0, HOOK_LATE_MS - ownMs);
          late = scheduler.after(leftMs, () => this.#drop(process, 'it did not answer in time'));
        },
        { keepAlive: true },
      );
      this.#reply = (output) => {
        timer.cancel();
        late?.cancel();
        release();
        resolve(output);
      };
      process.child.stdin.write(`${line}\n`);
    });
  }
}
