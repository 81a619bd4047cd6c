import { z } from 'zod';
import { AuditVerifier } from '../../protocol/audit.js';
import { AUDIT_PAGE_ROWS } from '../../protocol/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { ReadCall, ReadServices } from '../pipeline/call.js';
import { defineOperation } from '../pipeline/operation.js';

/**
 * Verifies the audit chain (interface §2.10): every row hashes its predecessor, every signature is valid, and the end
 * matches the signed head next to the database. AUDIT_CHAIN_BROKEN carries the report.
 */
export const verifySignedEventsChain = defineOperation({
  name: 'verify_signed_events_chain',
  family: 'governance',
  summary: 'Verify the audit chain: its hashes, its signatures, and that its end is not cut off.',
  core: false,
  input: z.object({
    since: z.int().min(0).default(0).describe('Only check the rows after this sequence'),
    format: z.enum(['text', 'json']).describe('Shape of the answer').optional(),
  }),
  output: z.object({
    rows_checked: z.int(),
    chain_break: z.int().nullable(),
    signature_failures: z.array(z.int()),
    chain_holds: z.boolean(),
    unsigned: z.int(),
    foreign_signatures: z.int(),
    head: z.string(),
  }),
  effect: 'read',
  guards: { admin: true },
  cli: {
    command: 'verify-signed-events-chain',
    view: 'message',
    message: (output) =>
      `the audit chain is valid: ${output['rows_checked']} rows checked, head ${output['head']}`,
  },
  run: verify,
});

async function verify(call: ReadCall, { since }: { readonly since: number }) {
  const { services } = call;
  // Reads the head first: rows that come meanwhile are after it, never before it.
  const found = await services.store.query({ kind: 'audit-head' });
  if (!found.ok) return failed(found.error);
  const { head } = found.value;
  const verifier = new AuditVerifier(services.crypto, services.machineKey?.publicKey ?? null, head);
  const read = await readAll(services, verifier, since);
  if (!read.ok) return failed(read.error);
  const { problem, ...report } = verifier.report();
  return problem === null
    ? ok({ ...report, signature_failures: [...report.signature_failures] })
    : fail('AUDIT_CHAIN_BROKEN', `the audit chain is not valid: ${problem}`, { ...report });
}

async function readAll(
  services: ReadServices,
  verifier: AuditVerifier,
  since: number,
): Promise<Result<null>> {
  let after = Math.max(0, since - 1);
  for (;;) {
    const page = await services.store.query({ kind: 'audit-rows', after, limit: AUDIT_PAGE_ROWS });
    if (!page.ok) return failed(page.error);
    for (const row of page.value.rows) {
      if (row.sequence <= since) verifier.startAfter(row);
      else verifier.check(row);
    }
    if (page.value.rows.length < AUDIT_PAGE_ROWS) return ok(null);
    after = page.value.rows.at(-1)!.sequence;
  }
}
