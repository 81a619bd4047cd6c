import { WRITE_DEADLINE_MS } from '../../protocol/base/limits.js';
import { type Appended, detailsOf, fail, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { usesOf } from '../../protocol/decide/command.js';
import type { MemoryUse } from '../../protocol/decide/used.js';
import { type AnswerOf, COMMANDS, type Command, type OutcomeOf, type Query } from '../../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from '../../storage/port.js';
import type { Replication } from './call.js';

interface CallStoreParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Until when the caller waits, in monotonic milliseconds; absent for one that waits for ever. */
  readonly deadlineMs: number | undefined;
  /** Where commands go that only the home of a subject may decide; absent for a call that passes none on. */
  readonly homes: Pick<Replication, 'forward' | 'commands'> | undefined;
  /** Hears which memories the call used. */
  readonly used: (memoryId: string, how: MemoryUse) => void;
}

/**
 * The store of one call, around that of the node. It decides nothing: it bounds each request by the deadline of the call
 * (what is still queued then answers DEADLINE and is never begun; a storage thread finishes what it has begun), passes
 * on to its home what only that may decide, says that a call gives its commands, and records the operations that they
 * appended and the memories that they used.
 */
export class CallStore implements Store {
  /** In the order of the log; adjacent ranges are merged. */
  readonly appended: Appended[] = [];

  constructor(
    private readonly store: Store,
    private readonly parts: CallStoreParts,
  ) {}

  async execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    const { deadlineMs } = this.parts;
    const timed = deadlineMs === undefined ? options : { timeoutMs: WRITE_DEADLINE_MS, ...options };
    const result = await this.store.execute(command, { ...this.bounded(timed), ofCall: true });
    const decided = await this.decidedAtHome(command, result);
    if (!decided.ok) return decided;
    if (decided.appended !== undefined) this.record(decided.appended);
    for (const [id, how] of usesOf(COMMANDS.of(command), command, decided.value)) this.parts.used(id, how);
    return decided;
  }

  query<Q extends Query>(query: Q, options: CallOptions = {}): Promise<Result<AnswerOf<Q>>> {
    return this.store.query(query, this.bounded(options));
  }

  selfCheck(cursor: string | null, options: CallOptions = {}): Promise<Result<SelfCheckPage>> {
    return this.store.selfCheck(cursor, this.bounded(options));
  }

  /** The store belongs to the node; a call cannot close it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private bounded(options: CallOptions): CallOptions {
    const { deadlineMs, clock } = this.parts;
    if (deadlineMs === undefined) return options;
    const leftMs = deadlineMs - clock.monotonicMs();
    return { ...options, timeoutMs: Math.min(options.timeoutMs ?? leftMs, leftMs) };
  }

  private async decidedAtHome<C extends Command>(
    command: C,
    result: Result<OutcomeOf<C>>,
  ): Promise<Result<OutcomeOf<C>>> {
    const { homes } = this.parts;
    const elsewhere = result.ok ? null : detailsOf(result.error, 'NOT_HOME');
    if (elsewhere === null) return result;
    if (homes === undefined) return fail('NOT_HOME', passedOnBy(elsewhere.home), elsewhere);
    if (!homes.commands.isForwarded(command.kind)) return result;
    return (await homes.forward(elsewhere.home, command)) as Result<OutcomeOf<C>>;
  }

  private record(range: Appended): void {
    const last = this.appended.at(-1);
    if (last !== undefined && last.origin === range.origin && last.last + 1 === range.first)
      this.appended[this.appended.length - 1] = { ...last, last: range.last };
    else this.appended.push(range);
  }
}

const passedOnBy = (home: string): string =>
  `only the home node ${home} may change this, and only a daemon can pass it on: start it with "mnemesh serve"`;
