import type { Command, OutcomeOf } from '../protocol/commands.js';
import type { KindNamespace } from '../protocol/mesh/ranges.js';
import { repairOf } from '../protocol/mesh/repair-terms.js';
import type { AnswerOf, Query } from '../protocol/queries.js';
import type { Result } from '../protocol/result.js';
import type { Log } from '../protocol/seams.js';
import type { CallOptions, Store } from './port.js';

/** Rows that one query has made anew at most. */
const HEALED_MAX = 32;

/** Has a row that a query cannot read made anew from the log, and asks again: one row does not fail every recall. */
export class HealingStore implements Store {
  /** Rows that the log cannot tell either. */
  private readonly hopeless = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly log: Log,
  ) {}

  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    return this.store.execute(command, options);
  }

  async query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    const healed = new Set<string>();
    const uncounted: KindNamespace[] = [];
    let result = await this.store.query(query, options);
    for (let id = damagedRow(result); id !== null; id = damagedRow(result)) {
      if (healed.has(id)) this.hopeless.add(id);
      if (this.hopeless.has(id) || healed.size >= HEALED_MAX) break;
      healed.add(id);
      this.log.error({ memory: id }, 'a row cannot be read; it is made anew from the log');
      const made = await this.store.execute(
        repairOf({ subjects: [{ kind: 'memory', id }], countLater: true }),
        options,
      );
      if (!made.ok) break;
      uncounted.push(...made.value.uncounted);
      result = await this.store.query(query, options);
    }
    const counting = repairOf({ recount: uncounted, recountQuotas: true });
    if (uncounted.length > 0) await this.store.execute(counting, options);
    return result;
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

function damagedRow(result: Result<unknown>): string | null {
  if (result.ok || result.error.code !== 'INTERNAL') return null;
  const id = result.error.details?.['damaged_id'];
  return typeof id === 'string' ? id : null;
}
