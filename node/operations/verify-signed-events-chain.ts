import { z } from 'zod';
import { type AuditHead, AuditVerifier, auditHeadBytes } from '../../protocol/audit.js';
import { AUDIT_PAGE_ROWS } from '../../protocol/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { Call, Services } from '../pipeline/call.js';
import { defineOperation } from '../pipeline/operation.js';

/**
 * Verifies the audit chain (interface §2.10): every row hashes its predecessor, every signature holds, and the end is
 * where the signed head beside the database says. AUDIT_CHAIN_BROKEN carries the report.
 */
export const verifySignedEventsChain = defineOperation({
  name: 'verify_signed_events_chain',
  family: 'governance',
  summary: 'Verify the audit chain: hashes, signatures, and that its end was not cut off.',
  core: false,
  input: z.object({
    since: z.int().min(0).default(0).describe('Check the rows after this sequence only'),
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
  events: [],
  cli: {
    command: 'verify-signed-events-chain',
    view: 'message',
    message: (output) =>
      `the audit chain holds: ${output['rows_checked']} rows checked, head ${output['head']}`,
  },
  run: verify,
});

async function verify(call: Call, { since }: { readonly since: number }) {
  const { services } = call;
  // The head first: rows that come meanwhile are behind it, never before it.
  const found = await services.store.query({ kind: 'audit-head' });
  if (!found.ok) return failed(found.error);
  const { head } = found.value;
  const headSequence = head === null || head === 'damaged' ? null : head.sequence;
  const verifier = new AuditVerifier(services.crypto, services.machineKey?.publicKey ?? null, headSequence);
  const read = await readAll(services, verifier, since);
  if (!read.ok) return failed(read.error);

  const judged = headVerdict(head, verifier, services);
  const report = {
    rows_checked: verifier.rowsChecked,
    chain_break: verifier.chainBreak,
    signature_failures: verifier.signatureFailures,
    chain_holds: verifier.chainBreak === null && verifier.signatureFailures.length === 0 && judged.sound,
    unsigned: verifier.unsigned,
    foreign_signatures: verifier.foreign,
    head: judged.word,
  };
  return report.chain_holds
    ? ok(report)
    : fail('AUDIT_CHAIN_BROKEN', `the audit chain does not hold: ${whatIsWrong(report)}`, report);
}

async function readAll(services: Services, verifier: AuditVerifier, since: number): Promise<Result<null>> {
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

/** Where the chain ends, against what the head says. The head may lag behind; a chain that ends before it was cut. */
function headVerdict(head: AuditHead | 'damaged' | null, verifier: AuditVerifier, services: Services) {
  const { last, headHash, unsigned, rowsChecked } = verifier;
  if (head === 'damaged') return { word: 'damaged', sound: false };
  if (head === null) {
    const expected = rowsChecked > unsigned && verifier.foreign < rowsChecked;
    return expected ? { word: 'missing', sound: false } : { word: 'none', sound: true };
  }
  const own = services.machineKey;
  const key = Buffer.from(head.public_key, 'base64');
  const signed = services.crypto.verify(
    key,
    auditHeadBytes(head.sequence, head.hash),
    Buffer.from(head.signature, 'base64'),
  );
  if (!signed || own === null || !key.equals(own.publicKey))
    return { word: 'not signed by this node', sound: false };
  if (last === null || last.sequence < head.sequence)
    return { word: 'beyond the end: rows were cut off', sound: false };
  // A row before the part that was asked for is not read again.
  if (headHash === null) return { word: 'before the part that was checked', sound: true };
  return Buffer.from(headHash).toString('hex') === head.hash
    ? { word: 'sound', sound: true }
    : { word: 'another row stands where it points', sound: false };
}

function whatIsWrong(report: {
  readonly chain_break: number | null;
  readonly signature_failures: readonly number[];
  readonly head: string;
}): string {
  if (report.chain_break !== null) return `it breaks at sequence ${report.chain_break}`;
  if (report.signature_failures.length > 0) {
    return `the signature of sequence ${report.signature_failures[0]} does not hold`;
  }
  return `its head is ${report.head}`;
}
