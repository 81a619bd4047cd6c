import { ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Crypto } from '../../protocol/base/seams.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { RankedMemories } from '../../protocol/memory/queries.js';
import type { RecallRequest } from '../../protocol/memory/recall-request.js';
import type { AnswerOf, Answers, Query } from '../../protocol/release.js';
import { KINDS } from '../../protocol/release.js';
import type { SelfCheckPage } from '../port.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import { dataDamaged } from './failures.js';
import { KeptAgentKeys } from './kept-agent-keys.js';
import { FindRows } from './kinds/find-rows.js';
import { KindPages } from './kinds/tables.js';
import { ANSWERS } from './queries/answers.js';
import type { QueryParts } from './queries/query-parts.js';
import { readRanked } from './queries/recall.js';
import { RecallIndex } from './recall/recall.js';
import { Statements } from './statements.js';

/** Queries never run out of time. */
const STOPPED_CLOCK = { monotonicMs: () => 0 };

/**
 * Answers queries on one connection. Synchronous; the same code runs in the daemon's reader threads, on its main
 * thread for lookups, and inline.
 */
export class Reader {
  private readonly parts: QueryParts;

  /** `crypto` is for queries that hash; null when the reader gets no such query. */
  constructor(
    private readonly db: Connection,
    crypto: Crypto | null = null,
    kinds: Kinds = KINDS,
    clock: Pick<Clock, 'monotonicMs'> = STOPPED_CLOCK,
  ) {
    const statements = new Statements(db);
    this.parts = {
      db,
      statements,
      find: new FindRows(statements),
      kinds,
      pages: new KindPages(kinds),
      recall: new RecallIndex(db),
      agentKeys: new KeptAgentKeys(),
      clock,
      get crypto() {
        if (crypto === null) throw new Error('this reader was opened without the means to hash');
        return crypto;
      },
    };
  }

  /** A failure names the row that cannot be read; a page leaves such rows out and names them. */
  run<Q extends Query>(query: Q): Result<AnswerOf<Q>> {
    // The map pairs each query with its answer; the compiler cannot follow that through an index.
    const { run } = ANSWERS[query.kind];
    return this.namingDamage(() => run(this.parts, query as never) as Result<AnswerOf<Q>>);
  }

  /** True for a query that costs less than a message to a thread. */
  isLookup(query: Query): boolean {
    return ANSWERS[query.kind].isLookup(query as never);
  }

  /** A page of the engine's check of its own structures. */
  selfCheck(cursor: string | null): Result<SelfCheckPage> {
    return this.namingDamage(() => ok(this.db.selfCheck(cursor)));
  }

  /** The rows of a ranking that another thread computed. */
  readWinners(request: RecallRequest, ranked: RankedMemories): Result<Answers['recall-memories']> {
    return this.namingDamage(() => ok(readRanked(this.parts, request, ranked)));
  }

  private namingDamage<T>(read: () => Result<T>): Result<T> {
    try {
      return read();
    } catch (error) {
      if (error instanceof DamagedRowError) return dataDamaged(error);
      const fault = this.db.faultOf(error);
      if (fault === 'corrupt' || fault === 'failed' || fault === 'busy') return this.db.failureOf(error);
      throw error;
    }
  }
}
