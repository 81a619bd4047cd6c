import { basename } from 'node:path';
import { absolutePath } from '../../node/config/paths.js';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import {
  type AuditLine,
  AuditLogVerifier,
  auditLinesIn,
  auditLogFiles,
} from '../../node/observability/audit-log.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { AuditRow } from '../../protocol/log/audit.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { counted } from '../imports/counts.js';
import { instantFlag } from '../instant-flag.js';
import { withLocalNode } from '../local-node.js';
import { numberFlag } from '../sessions/number-flag.js';
import { eachAuditRow } from './audit-rows.js';
import { AUDIT_DIR_FLAG, auditFiles, auditSettings } from './audit-settings.js';

const LINES = { usual: 50, min: 0, max: 1_000_000 } as const;
const EXIT_TAMPERED = 2;
/** A question for the schemas of tools, which the allowlist answers. */
const isExpansion = ({ payload }: AuditRow) =>
  payload !== null && (JSON.parse(payload) as { action?: unknown }).action === 'memory_capabilities';

const NO_ROWS = 'no rows of the audit chain fit\n';

/** Says where the audit log is. */
export const auditPathCommand = defineCommand({
  name: 'audit path',
  summary: 'Show the folder of the audit log.',
  flags: [AUDIT_DIR_FLAG],
  examples: ['audit path', 'audit path --json'],
  run: async (parsed, terminal) => {
    const { auditDir, auditLog } = auditSettings(parsed);
    const files = auditLogFiles(auditDir).map((path) => basename(path));
    const answer = { path: auditDir, enabled: auditLog, files };
    await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : `${auditDir}\n`);
    return ok(0);
  },
});

/** Shows the last acts of the audit log. */
export const auditTailCommand = defineCommand({
  name: 'audit tail',
  summary: 'Show the last acts of the audit log.',
  flags: [
    { name: 'lines', kind: 'value', value: 'number', doc: `Acts to show (default ${LINES.usual})` },
    { name: 'actor', kind: 'value', value: 'id', doc: 'Only acts of this actor' },
    {
      name: 'action',
      kind: 'value',
      value: 'word',
      doc: 'Only acts of this type, or of a group such as coordination.',
    },
    {
      name: 'namespace',
      kind: 'value',
      value: 'namespace',
      doc: 'Only acts whose details name this namespace',
    },
    {
      ...{ name: 'format', kind: 'value', value: 'form', choices: ['text', 'json'] },
      doc: 'Print a line for each act (text, by default), or its JSON document',
    },
    AUDIT_DIR_FLAG,
  ],
  examples: ['audit tail', 'audit tail --action agent. --lines 10'],
  run: async (parsed, terminal) => {
    const lines = numberFlag(parsed, 'lines', LINES);
    if (!lines.ok) return failed(lines.error);
    const files = auditFiles(auditSettings(parsed));
    if (!files.ok) return failed(files.error);
    const isWanted = wantedActs(parsed);
    let found: AuditLine[] = [];
    for (const path of files.value.toReversed()) {
      const here = auditLinesIn(path).filter((line): line is AuditLine => line !== null && isWanted(line));
      found = [...here, ...found];
      if (found.length >= lines.value) break;
    }
    const isJson = isSet(parsed, 'json') || flagValue(parsed, 'format') === 'json';
    for (const line of lines.value === 0 ? [] : found.slice(-lines.value)) {
      await terminal.print(isJson ? `${JSON.stringify(line)}\n` : textOf(line));
    }
    return ok(0);
  },
});

const textOf = ({ time, sequence, actor, action, payload }: AuditLine) =>
  `${time} ${sequence} ${action} ${actor}${payload === undefined ? '' : ` ${JSON.stringify(payload)}`}\n`;

function wantedActs(parsed: ParsedArguments): (line: AuditLine) => boolean {
  const [actor, action, namespace] = ['actor', 'action', 'namespace'].map((name) => flagValue(parsed, name));
  return (line) =>
    line.attestation === undefined &&
    (actor === undefined || line.actor === actor) &&
    (action === undefined ||
      line.action === action ||
      (action.endsWith('.') && line.action?.startsWith(action) === true)) &&
    (namespace === undefined ||
      (line.payload as { namespace?: unknown } | undefined)?.namespace === namespace);
}

/** Verifies the files of the audit log. */
export const auditVerifyCommand = defineCommand({
  name: 'audit verify',
  summary:
    'Verify the audit log: its lines, its chain, and the signatures of the node; exit code 2 when it was changed.',
  flags: [
    {
      ...{ name: 'path', kind: 'value', value: 'file', path: 'file' },
      doc: 'Only this file of an audit log',
    },
    { name: 'since', kind: 'value', value: 'instant', doc: 'Only the files from this day on' },
    { name: 'any-key', kind: 'switch', doc: 'Take signatures of other keys than that of this home' },
    AUDIT_DIR_FLAG,
  ],
  examples: ['audit verify', 'audit verify --path /srv/copy/audit-2026-07-01.jsonl --any-key'],
  run: async (parsed, terminal) => {
    const since = instantFlag(parsed, 'since');
    if (!since.ok) return failed(since.error);
    const settings = auditSettings(parsed);
    const path = flagValue(parsed, 'path');
    const files = path === undefined ? auditFiles(settings) : ok([absolutePath(path)]);
    if (!files.ok) return failed(files.error);
    const wanted = files.value.filter(
      (file) =>
        since.value === null || path !== undefined || basename(file) >= `audit-${since.value.slice(0, 10)}`,
    );
    const ownKey = isSet(parsed, 'any-key')
      ? null
      : loadMachineIdentity(settings.keyDir, systemRandom).key.publicKey;
    const verifier = new AuditLogVerifier(systemCrypto, ownKey);
    for (const file of wanted) {
      const lines = linesOrFailure(file);
      if (!lines.ok) return failed(lines.error);
      for (const [index, line] of lines.value.entries())
        verifier.check(`${basename(file)}:${index + 1}`, line);
    }
    const report = verifier.report(wanted.length);
    const { intact, problem, lines, attestations } = report;
    const text = intact
      ? `the audit log is intact: ${counted(lines, 'line')} in ${counted(wanted.length, 'file')}, ${attestations} of them signed ends\n`
      : `the audit log was changed: ${problem}\n`;
    await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(report)}\n` : text);
    return ok(intact ? 0 : EXIT_TAMPERED);
  },
});

function linesOrFailure(path: string): Result<ReturnType<typeof auditLinesIn>> {
  try {
    return ok(auditLinesIn(path));
  } catch (error) {
    return fail('NOT_FOUND', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Shows rows of the audit chain, with their details. */
export const auditShowCommand = defineCommand({
  name: 'audit show',
  summary: 'Show the newest rows of the audit chain in the database, with their details.',
  flags: [
    { name: 'capability-expansions', kind: 'switch', doc: 'Only the questions for schemas of tools' },
    { name: 'agent-id', kind: 'value', value: 'id', doc: 'Only acts of this agent' },
    { name: 'limit', kind: 'value', value: 'number', doc: `Rows to show (default ${LINES.usual})` },
  ],
  examples: ['audit show', 'audit show --agent-id ai:writer --limit 10 --json'],
  run: async (parsed, terminal) => {
    const limit = numberFlag(parsed, 'limit', { ...LINES, min: 1, max: 10_000 });
    if (!limit.ok) return failed(limit.error);
    const agent = flagValue(parsed, 'agent-id');
    const only = isSet(parsed, 'capability-expansions');
    return withLocalNode(parsed, async ({ store }) => {
      const rows: AuditRow[] = [];
      const read = await eachAuditRow(store, 0, (row) => {
        if (agent !== undefined && row.agent_id !== agent) return;
        if (only && !isExpansion(row)) return;
        rows.push(row);
        if (rows.length > limit.value) rows.shift();
      });
      if (!read.ok) return failed(read.error);
      const shown = rows.map((row) => ({
        ...{ sequence: row.sequence, timestamp: row.timestamp, agent_id: row.agent_id },
        ...{ event_type: row.event_type, attest_level: row.attest_level },
        payload: row.payload === null ? null : (JSON.parse(row.payload) as unknown),
      }));
      const text = shown.map(
        ({ timestamp, sequence, event_type, agent_id, payload }) =>
          `${timestamp} ${sequence} ${event_type} ${agent_id} ${JSON.stringify(payload)}\n`,
      );
      await terminal.print(
        isSet(parsed, 'json')
          ? `${JSON.stringify({ events: shown, count: shown.length })}\n`
          : text.join('') || NO_ROWS,
      );
      return ok(0);
    });
  },
});
