import { type ErasedHere, mayTellOf } from '../../protocol/memory/recall-erasures.js';
import { recallKind, type StoredRecall } from '../../protocol/memory/recall-kind.js';
import { recalledFrom, usesFrom } from '../../protocol/memory/recall-ledger.js';
import type { Statements } from './statements.js';

const { table } = recallKind;

type Told = Pick<StoredRecall, 'seq' | 'memories' | 'consumed_by_memory_id' | 'query' | 'namespace' | 'uses'>;

/** Takes erased memories out of the ledger of recalls, and the queries that may be about them. */
export function forgetErased(statements: Statements, erased: ErasedHere): void {
  const rows = statements
    .get(`SELECT seq, memories, consumed_by_memory_id, query, namespace, uses FROM ${table}`)
    .all() as Told[];
  const write = statements.get(
    `UPDATE ${table} SET memories = @memories, consumed_by_memory_id = @consumed_by_memory_id, query = @query,
       uses = @uses WHERE seq = @seq`,
  );
  for (const row of rows) {
    const left = withoutErased(row, erased);
    if (left !== null) write.run(left);
  }
}

/** A row without what was erased; null where it tells nothing of it. Places in the answer stay, so that ranks do. */
function withoutErased(row: Told, erased: ErasedHere): Omit<Told, 'namespace'> | null {
  const { ids } = erased;
  const { seq, memories, consumed_by_memory_id: ledTo, query, namespace, uses } = row;
  const recalled = recalledFrom(memories);
  const hasAnswered = recalled.some(([id]) => ids.has(id));
  const hasLedTo = ledTo !== null && ids.has(ledTo);
  const tells = query !== null && (hasAnswered || hasLedTo || mayTellOf(namespace, erased));
  if (!hasAnswered && !hasLedTo && !tells) return null;
  const isLeft = ([id]: readonly [string, ...unknown[]]) => !ids.has(id);
  return {
    seq,
    memories: hasAnswered
      ? JSON.stringify(recalled.map((each) => (isLeft(each) ? each : ['', each[1]])))
      : memories,
    consumed_by_memory_id: hasLedTo ? null : ledTo,
    query: tells ? null : query,
    uses: hasAnswered && uses !== null ? JSON.stringify(usesFrom(uses).filter(isLeft)) : uses,
  };
}
