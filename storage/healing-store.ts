import type { Command, OutcomeOf } from '../protocol/commands.js';
import type { AnswerOf, Query } from '../protocol/queries.js';
import type { Failure, Result } from '../protocol/result.js';
import type { Log } from '../protocol/seams.js';
import type { CallOptions, Store } from './port.js';

/** Rows that one query has made anew at most. */
const HEALED_MAX = 32;

/** Has a row that a query cannot read made anew from the log, and asks again: one row does not fail every recall. */
export class HealingStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly log: Log,
  ) {}

  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    return this.store.execute(command, options);
  }

  async query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    const healed = new Set<string>();
    for (;;) {
      const result = await this.store.query(query, options);
      const id = result.ok ? null : damagedRow(result.error);
      if (id === null || healed.has(id) || healed.size >= HEALED_MAX) return result;
      healed.add(id);
      this.log.error({ memory: id }, 'a row cannot be read; it is made anew from the log');
      const nothing = { operations: [], withheld: [], recount: [], dryRun: false };
      const made = await this.store.execute({ kind: 'repair-subjects', subjects: [id], ...nothing }, options);
      if (!made.ok) return result;
    }
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

function damagedRow({ code, details }: Failure): string | null {
  const id = details?.['damaged_id'];
  return code === 'INTERNAL' && typeof id === 'string' ? id : null;
}
