import type { Result } from '../protocol/base/result.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from './port.js';

/** A store in front of another one, which passes everything on but commands. */
export abstract class PassingStore implements Store {
  constructor(protected readonly store: Store) {}

  abstract execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>>;

  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    return this.store.query(query, options);
  }

  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>> {
    return this.store.selfCheck(cursor, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
