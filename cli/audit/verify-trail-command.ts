import { auditLinesIn, auditLogFiles } from '../../node/observability/audit-log.js';
import type { Services } from '../../node/pipeline/call.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import { type AuditReport, type AuditRow, AuditVerifier, auditRowHash } from '../../protocol/log/audit.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { counted } from '../imports/counts.js';
import { instantFlag } from '../instant-flag.js';
import { withLocalNode } from '../local-node.js';
import { eachAuditRow } from './audit-rows.js';
import { AUDIT_DIR_FLAG, auditSettings } from './audit-settings.js';

const EXIT_DIRTY = 1;
const MISMATCHES_SHOWN = 20;

/** How the chain in the database compares with the copy of it in the audit log. */
interface Witness {
  readonly state: 'none' | 'agrees' | 'differs';
  readonly compared: number;
  readonly mismatches: readonly number[];
}

interface Trail {
  readonly total_events: number;
  readonly chain_intact: boolean;
  readonly first_break_sequence: number | null;
  /** Sequences that are missing, from and to. */
  readonly sequence_gaps: readonly (readonly [number, number])[];
  readonly head_sequence: number;
  readonly since: string | null;
  readonly signature_failures: readonly number[];
  /** `cut` when the signed head or the audit log knows later rows; `unknown` when nothing outside the table does. */
  readonly truncation: 'none' | 'cut' | 'unknown';
  readonly head: string;
  readonly witness: Witness;
}

/** Verifies the chain, its gaps and its end, and compares it with what the audit log kept of it. */
export const verifyTrailCommand = defineCommand({
  name: 'verify-audit-trail',
  summary:
    'Verify the audit chain with its gaps and its end, and compare it with the audit log; exit code 1 when it is not whole.',
  flags: [
    { name: 'since', kind: 'value', value: 'instant', doc: 'Only the rows from this instant on' },
    AUDIT_DIR_FLAG,
  ],
  examples: ['verify-audit-trail', 'verify-audit-trail --since 7d --json'],
  run: async (parsed, terminal) => {
    const since = instantFlag(parsed, 'since');
    if (!since.ok) return failed(since.error);
    return withLocalNode(parsed, async (services) => {
      const trail = await trailOf(services, since.value, auditSettings(parsed).auditDir);
      if (!trail.ok) return failed(trail.error);
      const problem = problemOf(trail.value);
      await terminal.print(
        isSet(parsed, 'json')
          ? `${JSON.stringify({ ...trail.value, problem })}\n`
          : textOf(trail.value, problem),
      );
      return ok(problem === null ? 0 : EXIT_DIRTY);
    });
  },
});

async function trailOf(
  { store, crypto, machineKey }: Services,
  since: string | null,
  auditDir: string,
): Promise<Result<Trail>> {
  const logged = loggedRows(auditDir);
  // Reads the heads first: rows that come meanwhile are after them, never before them.
  const heads = await store.query({ kind: 'audit-heads' });
  if (!heads.ok) return failed(heads.error);
  const verifier = new AuditVerifier(crypto, machineKey?.publicKey ?? null, heads.value.heads);
  const witness = new WitnessCheck(logged, (row) => Buffer.from(auditRowHash(row, crypto)).toString('hex'));
  const gaps: [number, number][] = [];
  let last = 0;
  const read = await eachAuditRow(store, 0, (row) => {
    if (row.sequence > last + 1) gaps.push([last + 1, row.sequence - 1]);
    last = row.sequence;
    if (since !== null && row.timestamp < since) verifier.startAfter(row);
    else verifier.check(row);
    witness.compare(row);
  });
  if (!read.ok) return failed(read.error);
  const report = verifier.report();
  const lastLogged = Math.max(0, ...logged.keys());
  return ok({
    total_events: report.rows_checked,
    chain_intact: report.chain_break === null,
    first_break_sequence: report.chain_break,
    sequence_gaps: gaps,
    head_sequence: last,
    since,
    signature_failures: report.signature_failures,
    truncation: truncationOf(report, last, lastLogged),
    head: report.head,
    witness: witness.result(),
  });
}

function truncationOf(report: AuditReport, last: number, lastLogged: number): Trail['truncation'] {
  if (report.head.startsWith('beyond the end') || lastLogged > last) return 'cut';
  const isKnown = report.head === 'sound' || report.head.startsWith('before') || lastLogged > 0;
  return isKnown ? 'none' : 'unknown';
}

/** The hashes of the rows that the audit log has, by sequence. */
function loggedRows(folder: string): ReadonlyMap<number, string> {
  const rows = new Map<number, string>();
  for (const path of auditLogFiles(folder)) {
    for (const line of auditLinesIn(path))
      if (line?.row_hash !== undefined) rows.set(line.sequence, line.row_hash);
  }
  return rows;
}

class WitnessCheck {
  #compared = 0;
  readonly #mismatches: number[] = [];

  constructor(
    private readonly logged: ReadonlyMap<number, string>,
    private readonly hashOf: (row: AuditRow) => string,
  ) {}

  compare(row: AuditRow): void {
    const kept = this.logged.get(row.sequence);
    if (kept === undefined) return;
    this.#compared += 1;
    if (kept !== this.hashOf(row) && this.#mismatches.length < MISMATCHES_SHOWN)
      this.#mismatches.push(row.sequence);
  }

  result(): Witness {
    const state = this.logged.size === 0 ? 'none' : this.#mismatches.length === 0 ? 'agrees' : 'differs';
    return { state, compared: this.#compared, mismatches: this.#mismatches };
  }
}

function problemOf(trail: Trail): string | null {
  const [gap] = trail.sequence_gaps;
  if (gap !== undefined) return `the sequences ${gap[0]} to ${gap[1]} are missing`;
  if (trail.first_break_sequence !== null) return `it breaks at sequence ${trail.first_break_sequence}`;
  const [failure] = trail.signature_failures;
  if (failure !== undefined) return `the signature of sequence ${failure} is wrong`;
  if (trail.truncation === 'cut') return 'its newest rows were cut off';
  const [mismatch] = trail.witness.mismatches;
  if (mismatch !== undefined) return `sequence ${mismatch} is not what the audit log has`;
  const { head } = trail;
  const isWrong =
    head === 'damaged' ||
    head === 'missing' ||
    head.startsWith('not signed') ||
    head.startsWith('in conflict');
  return isWrong ? `its head is ${head}` : null;
}

function textOf(trail: Trail, problem: string | null): string {
  const { witness } = trail;
  const copy =
    witness.state === 'none'
      ? 'no audit log to compare with'
      : `${counted(witness.compared, 'row')} compared with the audit log`;
  return problem === null
    ? `the audit trail is whole: ${counted(trail.total_events, 'row')} checked, head ${trail.head}, ${copy}\n`
    : `the audit trail is not whole: ${problem} (${copy})\n`;
}
