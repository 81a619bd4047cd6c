import { z } from 'zod';
import { publicKeyFromText } from '../../../protocol/base/key-text.js';
import { AUDIT_PAGE_ROWS } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { type AuditReport, AuditVerifier } from '../../../protocol/log/audit.js';
import type { ReadCall, ReadServices } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

/** More homes than one database has. */
const KEYS_MAX = 64;

/**
 * Verifies the audit chain (interface §2.10): every row hashes its predecessor, every signature is valid, and the end
 * matches the signed heads next to the database. AUDIT_CHAIN_BROKEN carries the report, and so does AUDIT_KEY_WANTED,
 * where only other homes have signed a head.
 */
export const verifySignedEventsChain = defineOperation({
  name: 'verify_signed_events_chain',
  family: 'governance',
  summary: 'Verify the audit chain: its hashes, its signatures, and that its end is not cut off.',
  input: z.object({
    since: z.int().min(0).default(0).describe('Only check the rows after this sequence'),
    keys: fields
      .wordList(KEYS_MAX)
      .describe('Public keys of other homes that write into the database, whose heads count too')
      .optional(),
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
    after_head: z.int(),
    other_keys: z.array(z.string()),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/audit/verify', fields: 'query', omit: ['format'] }],
  cli: {
    command: 'verify-signed-events-chain',
    view: 'message',
    message: (output) => {
      const keys = (output['other_keys'] as readonly string[]).join(',');
      const beyond =
        keys === '' || output['after_head'] === 0
          ? ''
          : `; for the last ${output['after_head']} of them only ${keys} vouches (--keys)`;
      return `the audit chain is valid: ${output['rows_checked']} rows checked, head ${output['head']}${beyond}`;
    },
    examples: [
      'verify-signed-events-chain --keys "$(SVC_HOME=/srv/other mnemesh identity export-pub --agent-id daemon)"',
    ],
  },
  run: verify,
});

async function verify(
  call: ReadCall,
  { since, keys = [] }: { readonly since: number; readonly keys?: readonly string[] | undefined },
) {
  const { services } = call;
  const given = keys.map(publicKeyFromText);
  if (!given.every((key) => key !== null)) {
    return fail('VALIDATION_FAILED', 'keys: each must be a 32-byte Ed25519 public key in base64', {
      fields: ['keys'],
    });
  }
  // Reads the heads first: rows that come meanwhile are after them, never before them.
  const found = await services.store.query({ kind: 'audit-heads' });
  if (!found.ok) return failed(found.error);
  const own = services.machineKey?.publicKey ?? null;
  const verifier = new AuditVerifier(services.crypto, own, found.value.heads, given);
  const read = await readAll(services, verifier, since);
  if (!read.ok) return failed(read.error);
  return answerOf(verifier.report());
}

function answerOf({ problem, key_wanted: keyWanted, ...report }: AuditReport) {
  if (problem === null) {
    const { signature_failures: failures, other_keys: others } = report;
    return ok({ ...report, signature_failures: [...failures], other_keys: [...others] });
  }
  if (!keyWanted)
    return fail('AUDIT_CHAIN_BROKEN', `the audit chain is not valid: ${problem}`, { ...report });
  const message = `no key of this home vouches for the end of the audit chain: ${problem}; verify it there, or name that key with --keys`;
  return fail('AUDIT_KEY_WANTED', message, { ...report });
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
