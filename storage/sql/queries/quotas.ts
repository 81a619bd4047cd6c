import type { ListQuotas } from '../../../protocol/agents/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { type QuotaSqlRow, quotaFromSql } from '../quota-ledger.js';
import type { QueryParts } from './query-parts.js';

/** Quota rows by holder and namespace. */
export function listQuotas({ statements }: QueryParts, query: ListQuotas): Answers['list-quotas'] {
  const rows = statements
    .get(
      `SELECT * FROM agent_quotas WHERE (@holder IS NULL OR agent_id = @holder)
       AND (@namespace IS NULL OR namespace = @namespace) ORDER BY agent_id, namespace`,
    )
    .all({ holder: query.holder, namespace: query.namespace }) as QuotaSqlRow[];
  return { uses: rows.map(quotaFromSql) };
}
