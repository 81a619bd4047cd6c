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
  const asks = query !== null && (hasAnswered || hasLedTo || mayTellOf(namespace, erased));
  if (!hasAnswered && !hasLedTo && !asks) return null;
  const left = recalled.map(([id, score]) => [ids.has(id) ? '' : id, score]);
  return {
    seq,
    memories: hasAnswered ? JSON.stringify(left) : memories,
    consumed_by_memory_id: hasLedTo ? null : ledTo,
    query: asks ? null : query,
    uses: uses === null ? null : JSON.stringify(usesFrom(uses).filter(([id]) => !ids.has(id))),
  };
}
