import type { Command, OutcomeOf } from '../../protocol/commands.js';
import { INLINE_YIELD_MS, WRITE_DEADLINE_MS } from '../../protocol/limits.js';
import type { AnswerOf, Query } from '../../protocol/queries.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { Clock, Random, Scheduler } from '../../protocol/seams.js';
import type { CallOptions, Store } from '../port.js';
import { Reader } from './reader.js';
import { DatabaseBusyError, Writer, type WriterParts } from './writer.js';

/** What an inline store needs from the world. */
export interface InlineStoreParts extends WriterParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /**
   * True when other processes may write to the same file: then every commit is followed by a pause, because SQLite's
   * lock is not fair and the daemon must get its turn (design: architecture, "Several processes on one database").
   */
  readonly shared: boolean;
}

/** How long a busy database is left alone before the next try, grown by the number of tries. */
const RETRY_STEP_MS = 4;
const RETRY_MAX_MS = 100;

/** The store in the caller's own thread: for MCP processes, one-shot commands, tests and the simulator. */
export class InlineStore implements Store {
  private readonly writer;
  private readonly reader;
  private tail: Promise<unknown> = Promise.resolve();
  private closed = false;

  constructor(private readonly parts: InlineStoreParts) {
    this.writer = new Writer(parts);
    this.reader = new Reader(parts.db);
  }

  execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    const deadline = this.parts.clock.monotonicMs() + (options.timeoutMs ?? WRITE_DEADLINE_MS);
    // One at a time: two inline writers of one process would only fight each other for the lock.
    const run = this.tail.then(() => this.write(command, deadline));
    this.tail = run.then(
      () => (this.parts.shared ? this.pause(INLINE_YIELD_MS) : undefined),
      () => undefined,
    );
    return run as Promise<Result<OutcomeOf<C>>>;
  }

  query<Q extends Query>(query: Q): Promise<Result<AnswerOf<Q>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    try {
      return Promise.resolve(this.reader.run(query));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.tail;
    this.parts.db.close();
  }

  private async write(command: Command, deadline: number): Promise<Result<unknown>> {
    for (let tries = 1; ; tries += 1) {
      try {
        const [result] = this.writer.run([{ command, nowMs: this.parts.clock.nowMs() }]);
        return result!.ok ? ok(result!.value) : failed(result!.error);
      } catch (error) {
        if (!(error instanceof DatabaseBusyError)) throw error;
      }
      const wait = Math.min(RETRY_STEP_MS * tries, RETRY_MAX_MS) * (0.5 + this.parts.random.unit());
      if (this.parts.clock.monotonicMs() + wait >= deadline) {
        return fail('OVERLOADED', 'the database stayed locked by other processes; nothing was changed');
      }
      await this.pause(wait);
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      this.parts.scheduler.after(ms, resume, { keepAlive: true });
    });
  }
}
