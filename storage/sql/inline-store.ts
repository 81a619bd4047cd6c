import { BATCH_COMMANDS_MAX, WRITE_DEADLINE_MS } from '../../protocol/base/limits.js';
import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock, Random, Scheduler } from '../../protocol/base/seams.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from '../port.js';
import { stayedLocked } from './failures.js';
import { LockTurns } from './lock-turns.js';
import { Reader } from './reader.js';
import { DatabaseBusyError, Writer, type WriterParts } from './writer.js';

/** The dependencies of an inline store. */
export interface InlineStoreParts extends WriterParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** True when other processes may write to the same file. */
  readonly shared: boolean;
}

/** The pause before the next try on a busy database, multiplied by the number of tries. */
const RETRY_STEP_MS = 4;
const RETRY_MAX_MS = 100;

/** A command that waits for its turn. */
interface Waiting {
  readonly command: Command;
  /** When the wait for the lock ends. */
  readonly deadlineMs: number;
  readonly resolve: (result: Result<OutcomeOf<Command>>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The store in the caller's own thread: for MCP processes, one-shot commands, tests and the simulator. Commands that
 * are submitted together share a commit, as in the daemon.
 */
export class InlineStore implements Store {
  private readonly writer;
  private readonly reader;
  private readonly turns: LockTurns | null;
  private readonly waiting: Waiting[] = [];
  private pump: Promise<void> | null = null;
  private closed = false;

  constructor(private readonly parts: InlineStoreParts) {
    this.writer = new Writer(parts);
    this.reader = new Reader(parts.db, parts.crypto, parts.kinds, parts.clock);
    this.turns = parts.shared ? new LockTurns(parts.db, parts.clock) : null;
  }

  execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    const deadlineMs = this.parts.clock.monotonicMs() + (options.timeoutMs ?? WRITE_DEADLINE_MS);
    const outcome = new Promise<Result<OutcomeOf<Command>>>((resolve, reject) => {
      this.waiting.push({ command, deadlineMs, resolve, reject });
    });
    this.pump ??= this.work();
    return outcome as Promise<Result<OutcomeOf<C>>>;
  }

  query<Q extends Query>(query: Q): Promise<Result<AnswerOf<Q>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    try {
      return Promise.resolve(this.reader.run(query));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  selfCheck(cursor: string | null): Promise<Result<SelfCheckPage>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    return Promise.resolve(this.reader.selfCheck(cursor));
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.pump;
    this.parts.db.close();
  }

  /** One batch at a time: two inline writers of one process would only compete for the lock. */
  private async work(): Promise<void> {
    // Further commands of this turn of the event loop join the first batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      await this.write(this.waiting.splice(0, BATCH_COMMANDS_MAX));
      const pauseMs = this.turns?.pauseMs() ?? 0;
      if (pauseMs > 0) await this.pause(pauseMs);
    }
    this.pump = null;
  }

  private async write(batch: readonly Waiting[]): Promise<void> {
    let waiting = batch;
    for (let tries = 1; waiting.length > 0; tries += 1) {
      const nowMs = this.parts.clock.nowMs();
      try {
        const results = this.writer.run(waiting.map(({ command }) => ({ command, nowMs })));
        // A batch whose time was over answers its first commands; the others begin the next one.
        const answered = waiting.slice(0, results.length);
        waiting = waiting.slice(results.length);
        answered.forEach((each, index) => {
          each.resolve(results[index]!);
        });
        tries = 0;
        continue;
      } catch (error) {
        if (!(error instanceof DatabaseBusyError)) {
          for (const { reject } of waiting) reject(error);
          return;
        }
      }
      const wait = Math.min(RETRY_STEP_MS * tries, RETRY_MAX_MS) * (0.5 + this.parts.random.unit());
      const untilMs = this.parts.clock.monotonicMs() + wait;
      for (const { deadlineMs, resolve } of waiting) {
        if (untilMs >= deadlineMs) resolve(stayedLocked());
      }
      waiting = waiting.filter(({ deadlineMs }) => untilMs < deadlineMs);
      await this.pause(wait);
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      this.parts.scheduler.after(ms, resume, { keepAlive: true });
    });
  }
}
