import { statSync } from 'node:fs';
import { absolutePath } from '../../node/config/paths.js';
import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { knownTurns, recoverTurn } from '../../node/operations/transcripts/recover-turn.js';
import { systemClock, systemCrypto } from '../../node/seams.js';
import { namespaceNameProblem } from '../../protocol/base/ids.js';
import { READ_RECORDS_MAX } from '../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { canonicalInstant } from '../../protocol/base/time.js';
import { HOST_SESSION_LENGTH_MAX } from '../../protocol/transcripts/limits.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { fileAt } from '../mine/source-file.js';
import { UnreadableError } from '../mine/text-of.js';
import { failureOf, failureText } from '../report-failure.js';
import { numberFlag } from '../sessions/number-flag.js';
import type { Terminal } from '../terminal.js';
import { HOSTS, type HostFile, newestSession } from './host-files.js';
import { type HostTurn, normalisedTurn, turnsOf } from './host-turns.js';

const LIMIT = 100;
const LIMIT_MAX = 100_000;
/** Ids and problems that are shown with --quiet, and at most otherwise. */
const QUIET_MAX = 10;
const ERRORS_MAX = 100;

/** Stores what a session of a host said and was not captured (reference-mcp-cli §6.7). */
export const recoverCommand = defineCommand({
  name: 'recover-previous-session',
  summary:
    'Store the turns of the last session of an agent that are not stored yet, from the file that its program wrote.',
  flags: [
    {
      name: 'host',
      kind: 'value',
      value: 'name',
      doc: `${HOSTS.join(', ')}, or auto for the newest of all (auto)`,
    },
    {
      name: 'transcript',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'The file (the newest of the host)',
    },
    { name: 'since', kind: 'value', value: 'instant', doc: 'Only turns at or after this RFC 3339 instant' },
    { name: 'namespace', short: 'n', kind: 'value', value: 'text', doc: 'Namespace of the memories' },
    { name: 'limit', kind: 'value', value: 'number', doc: `Store at most this many turns (${LIMIT})` },
    { name: 'dry-run', kind: 'switch', doc: 'Only say what would be stored' },
    { name: 'quiet', short: 'q', kind: 'switch', doc: 'Print little, and end with 0 whatever happens' },
  ],
  examples: ['recover-previous-session', 'recover-previous-session --host codex --dry-run --json'],
  run: async (parsed, terminal) => {
    const quiet = isSet(parsed, 'quiet');
    const asked = askedOf(parsed);
    if (!asked.ok) return failed(asked.error);
    try {
      const report = await recover(parsed, asked.value);
      if (!report.ok) return await gaveUp(report.error, quiet, isSet(parsed, 'json'), terminal);
      await terminal.print(textOf(report.value, quiet, isSet(parsed, 'json')));
      return ok(report.value.errors.length === 0 || quiet ? 0 : EXIT_FAILED);
    } catch (error) {
      return gaveUp(failureOf(error), quiet, isSet(parsed, 'json'), terminal);
    }
  },
});

/** Exit code of a recovery that failed, or a part of it. */
const EXIT_FAILED = 2;

/** An agent that ends must not fail because of it. */
async function gaveUp(
  failure: Failure,
  quiet: boolean,
  json: boolean,
  terminal: Terminal,
): Promise<Result<number>> {
  await terminal.complain(failureText(failure, json, ''));
  return ok(quiet ? 0 : EXIT_FAILED);
}

interface Asked {
  readonly host: string;
  readonly transcript: string | null;
  readonly since: string | null;
  readonly namespace: string | null;
  readonly limit: number;
  readonly dryRun: boolean;
}

interface Report {
  readonly transcript_path: string;
  readonly host_kind: string;
  readonly elapsed_ms: number;
  readonly elapsed_ms_resolve_path: number;
  readonly elapsed_ms_parse: number;
  readonly elapsed_ms_dedup_query: number;
  readonly elapsed_ms_writes: number;
  readonly lines_total: number;
  readonly lines_atomised: number;
  readonly lines_skipped_dedup: number;
  readonly lines_skipped_limit: number;
  readonly memories_created: readonly string[];
  readonly errors: readonly string[];
  readonly schema_version_at_run: number;
  /** True where everything was stored already. */
  readonly fast_path_hit: boolean;
  readonly dry_run?: true;
}

function askedOf(parsed: ParsedArguments): Result<Asked> {
  const limit = numberFlag(parsed, 'limit', { usual: LIMIT, min: 0, max: LIMIT_MAX });
  if (!limit.ok) return failed(limit.error);
  const given = flagValue(parsed, 'since');
  const since = given === undefined ? null : canonicalInstant(given);
  if (given !== undefined && since === null)
    return fail('VALIDATION_FAILED', '--since must be an RFC 3339 instant with an offset', {
      fields: ['since'],
    });
  const namespace = flagValue(parsed, 'namespace')?.normalize('NFC') ?? null;
  const problem = namespace === null ? null : namespaceNameProblem(namespace);
  if (problem !== null)
    return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
  return ok({
    host: flagValue(parsed, 'host') ?? 'auto',
    transcript: flagValue(parsed, 'transcript') ?? null,
    since,
    namespace,
    limit: limit.value,
    dryRun: isSet(parsed, 'dry-run'),
  });
}

async function recover(parsed: ParsedArguments, asked: Asked): Promise<Result<Report>> {
  const watch = new Stopwatch();
  const file = fileOf(asked);
  if (!file.ok) return failed(file.error);
  watch.lap('resolve_path');
  const read = await turnsIn(file.value);
  if (!read.ok) return failed(read.error);
  const { total, turns, problems } = read.value;
  const wanted = turns.filter(({ at }) => asked.since === null || (at !== null && at >= asked.since));
  watch.lap('parse');
  return withLocalRunner(parsed, async (runner, own) => {
    const node = { runner, caller: callerFor(own, file.value.host) };
    const known = await knownAmong(node, wanted);
    if (!known.ok) return failed(known.error);
    watch.lap('dedup_query');
    const fresh = wanted.filter((_, index) => !known.value.has(index));
    const done = await stored(node, fresh.slice(0, asked.limit), { asked, file: file.value });
    watch.lap('writes');
    const { created, errors, again } = done;
    return ok({
      transcript_path: file.value.path,
      host_kind: file.value.host,
      ...watch.laps(),
      lines_total: total,
      lines_atomised: asked.dryRun ? Math.min(fresh.length, asked.limit) : created.length,
      lines_skipped_dedup: known.value.size + again,
      lines_skipped_limit: Math.max(0, fresh.length - asked.limit),
      memories_created: created,
      errors: [...problems, ...errors].slice(0, ERRORS_MAX),
      schema_version_at_run: SCHEMA_VERSION,
      fast_path_hit: fresh.length === 0,
      ...(asked.dryRun ? { dry_run: true as const } : {}),
    });
  });
}

function fileOf({ host, transcript }: Asked): Result<HostFile> {
  if (transcript !== null) {
    const path = absolutePath(transcript);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
      return fail('INVALID_ARGUMENT', `--transcript: there is no file ${path}`);
    return ok({ host: HOSTS.includes(host) ? host : hostOf(path), path });
  }
  const found = newestSession(host, process.cwd());
  if (found !== null) return ok(found);
  return fail(
    'NOT_FOUND',
    `there is no session of ${HOSTS.includes(host) ? host : HOSTS.join(', ')} for this folder; name its file with --transcript`,
  );
}

/** The host of a file by its name and place. */
function hostOf(path: string): string {
  if (/(^|\/)rollout-[^/]*\.jsonl$/.test(path) || path.includes('/.codex/')) return 'codex';
  return /\/(\.gemini|gemini)\//.test(path) || /(^|\/)session-[^/]*\.jsonl?$/.test(path)
    ? 'gemini-cli'
    : 'claude-code';
}

async function turnsIn({ path }: HostFile) {
  const problems: string[] = [];
  const turns: HostTurn[] = [];
  let total = 0;
  try {
    for await (const turn of turnsOf(fileAt(path), (problem) => problems.push(problem))) {
      total += 1;
      if (turn !== null) turns.push(turn);
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return fail('VALIDATION_FAILED', `${path} ${error.message}`, { fields: ['transcript'] });
  }
  return ok({ total, turns, problems });
}

interface Node {
  readonly runner: LocalRunner;
  readonly caller: Caller;
}

/** The turns of a process without a name belong to the agent of the host, so that they have one owner at every call. */
const callerFor = (caller: Caller, host: string): Caller =>
  caller.claimed === 'made' ? { ...caller, agentId: `ai:${host}`, claimed: 'explicit' } : caller;

const keyOf = ({ session, index }: HostTurn) => ({
  host_session_id: session.slice(0, HOST_SESSION_LENGTH_MAX),
  host_turn_index: index,
});

async function knownAmong(
  { runner, caller }: Node,
  turns: readonly HostTurn[],
): Promise<Result<ReadonlySet<number>>> {
  const known = new Set<number>();
  for (let from = 0; from < turns.length; from += READ_RECORDS_MAX) {
    const input = { turns: turns.slice(from, from + READ_RECORDS_MAX).map(keyOf) };
    const answer = await runner.run(knownTurns, { surface: 'cli', caller, input, unknownFields: 'refuse' });
    if (!answer.ok) return failed(answer.error);
    for (const index of answer.value['known'] as readonly number[]) known.add(from + index);
  }
  return ok(known);
}

async function stored(
  { runner, caller }: Node,
  turns: readonly HostTurn[],
  { asked, file }: { readonly asked: Asked; readonly file: HostFile },
) {
  const created: string[] = [];
  const errors: string[] = [];
  let again = 0;
  for (const turn of asked.dryRun ? [] : turns) {
    const input = {
      ...keyOf(turn),
      host_kind: file.host,
      ...(asked.namespace === null ? {} : { namespace: asked.namespace }),
      role: turn.role,
      content: turn.text,
      tool_calls: turn.tools,
      ...(turn.at === null ? {} : { created_at: turn.at }),
      transcript_path: file.path,
      line_sha256: systemCrypto.sha256Hex(normalisedTurn(turn)),
    };
    const answer = await runner.run(recoverTurn, { surface: 'cli', caller, input, unknownFields: 'refuse' });
    // A turn that its host has sent with another text is stored already.
    if (!answer.ok && answer.error.code === 'TURN_CONFLICT') again += 1;
    else if (!answer.ok) errors.push(`line ${turn.index + 1}: ${answer.error.message}`);
    else if (answer.value['created'] === true) created.push(String(answer.value['memory_id']));
    else if (answer.value['pending_id'] !== undefined)
      errors.push(`line ${turn.index + 1}: waits for approval`);
    else again += 1;
  }
  return { created, errors, again };
}

class Stopwatch {
  private readonly beganMs = systemClock.monotonicMs();
  private lastMs = this.beganMs;
  private readonly ms: Record<string, number> = {};

  lap(name: string): void {
    const nowMs = systemClock.monotonicMs();
    this.ms[`elapsed_ms_${name}`] = Math.round(nowMs - this.lastMs);
    this.lastMs = nowMs;
  }

  laps() {
    const elapsed_ms = Math.round(this.lastMs - this.beganMs);
    return { elapsed_ms, ...this.ms } as Pick<
      Report,
      | 'elapsed_ms'
      | 'elapsed_ms_resolve_path'
      | 'elapsed_ms_parse'
      | 'elapsed_ms_dedup_query'
      | 'elapsed_ms_writes'
    >;
  }
}

function textOf(report: Report, quiet: boolean, json: boolean): string {
  const { memories_created: created, errors } = report;
  const shown = quiet ? { ...report, memories_created: created.slice(0, QUIET_MAX) } : report;
  if (json) return `${JSON.stringify(shown)}\n`;
  if (quiet) return '';
  const would = report.dry_run === true ? 'would store' : 'stored';
  const { lines_total, lines_atomised, lines_skipped_dedup: dedup, lines_skipped_limit: limit } = report;
  return [
    `${would} ${lines_atomised} turns of ${lines_total} lines of ${report.transcript_path} (${report.host_kind})`,
    `${dedup} are stored already, ${limit} are beyond the limit`,
    ...errors,
    '',
  ].join('\n');
}
