import type { AuditRow } from '../../../protocol/log/audit.js';
import type { AuditRows, NewestAuditRows } from '../../../protocol/maintenance/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { AUDIT_COLUMNS } from '../audit-chain.js';
import type { QueryParts } from './query-parts.js';

/** Rows of the audit chain, oldest first. */
export function auditRows({ statements }: QueryParts, query: AuditRows): Answers['audit-rows'] {
  const rows = statements
    .get(`SELECT ${AUDIT_COLUMNS} FROM signed_events WHERE sequence > @after ORDER BY sequence LIMIT @limit`)
    .all({ after: query.after, limit: query.limit }) as AuditRow[];
  return { rows };
}

/** Rows of the audit chain, newest first. */
export function newestAuditRows(
  { statements }: QueryParts,
  { before, limit }: NewestAuditRows,
): Answers['newest-audit-rows'] {
  const rows = statements
    .get(
      `SELECT ${AUDIT_COLUMNS} FROM signed_events WHERE sequence < @before ORDER BY sequence DESC LIMIT @limit`,
    )
    .all({ before: before ?? Number.MAX_SAFE_INTEGER, limit }) as AuditRow[];
  return { rows };
}
