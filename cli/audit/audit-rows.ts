import type { Services } from '../../node/pipeline/call.js';
import { AUDIT_PAGE_ROWS } from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { AuditRow } from '../../protocol/log/audit.js';

/** Passes each row of the chain after a sequence, in order. */
export async function eachAuditRow(
  store: Services['store'],
  after: number,
  take: (row: AuditRow) => void,
): Promise<Result<null>> {
  for (let last = after; ; ) {
    const page = await store.query({ kind: 'audit-rows', after: last, limit: AUDIT_PAGE_ROWS });
    if (!page.ok) return failed(page.error);
    for (const row of page.value.rows) take(row);
    if (page.value.rows.length < AUDIT_PAGE_ROWS) return ok(null);
    last = page.value.rows.at(-1)!.sequence;
  }
}
