import { WRITE_DEADLINE_MS } from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from '../../storage/port.js';
import type { Services } from './call.js';

type Bounded = Pick<Services, 'store' | 'tokens'>;

/**
 * The store and the token counter for one call whose caller waits only until `deadlineMs` (monotonic). Commands and
 * queries that are still queued then answer DEADLINE and are never begun; a storage thread finishes what it has begun.
 */
export function boundedServices(
  { store, tokens, clock }: Bounded & Pick<Services, 'clock'>,
  deadlineMs: number,
): Bounded {
  return {
    store: new BoundedStore(store, clock, deadlineMs),
    tokens: { counts: (texts, budget) => tokens.counts(texts, budget, deadlineMs) },
  };
}

class BoundedStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly deadlineMs: number,
  ) {}

  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    return this.store.execute(command, this.bounded({ timeoutMs: WRITE_DEADLINE_MS, ...options }));
  }

  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    return this.store.query(query, this.bounded(options));
  }

  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>> {
    return this.store.selfCheck(cursor, this.bounded(options));
  }

  /** The store belongs to the node; a call cannot close it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private bounded(options: CallOptions = {}): CallOptions {
    const leftMs = this.deadlineMs - this.clock.monotonicMs();
    return { ...options, timeoutMs: Math.min(options.timeoutMs ?? leftMs, leftMs) };
  }
}
