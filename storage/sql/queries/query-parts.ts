import type { Clock, Crypto } from '../../../protocol/base/seams.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import type { Connection } from '../connection.js';
import type { KeptAgentKeys } from '../kept-agent-keys.js';
import type { FindRows } from '../kinds/find-rows.js';
import type { KindPages } from '../kinds/tables.js';
import type { RecallIndex } from '../recall/recall.js';
import type { Statements } from '../statements.js';

/** The parts of one connection that a query may use. */
export interface QueryParts {
  readonly db: Connection;
  readonly statements: Statements;
  readonly find: FindRows;
  readonly kinds: Kinds;
  readonly pages: KindPages;
  readonly recall: RecallIndex;
  readonly agentKeys: KeptAgentKeys;
  /** For queries that end after a while. */
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Throws when the reader was opened without crypto. */
  readonly crypto: Crypto;
}
