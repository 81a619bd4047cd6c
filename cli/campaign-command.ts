import { readFileSync, statSync } from 'node:fs';
import { CAMPAIGN_FILE_BYTES_MAX } from '../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { campaignRecordCheck, type RecordCheck, type RecordProblem } from './campaign-record.js';
import { type Command, PROGRAM } from './command.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet } from './global-flags.js';
import { type FileRecord, jsonRecords } from './json-records.js';
import { Progress } from './progress.js';
import type { Terminal } from './terminal.js';
import { oneLine } from './views/text.js';

/** Checks the per-turn log of a campaign (interface §2.11): exit code 0 when every record is valid, 1 otherwise. */
export const campaignValidateCommand: Command = defineCommand({
  name: 'campaign validate',
  summary: 'Check the per-turn log records of a test campaign.',
  positionals: [
    {
      name: 'file',
      path: 'file',
      doc: 'JSON (a record, or an array of them) or JSON Lines; - reads standard input',
    },
  ],
  flags: [
    {
      name: 'default-sku',
      kind: 'value',
      value: 'text',
      doc: 'The pinned model; records of another model are flagged sku_mismatch (default: no model is pinned)',
    },
    {
      name: 'framework',
      kind: 'list',
      value: 'id',
      doc: 'A framework of the campaign; repeat it for the second (default: any identifier)',
    },
    {
      name: 'agent',
      kind: 'list',
      value: 'id',
      doc: 'An agent of the campaign; repeat it for the second (default: any ai:<name>)',
    },
    {
      name: 'node-prefix',
      kind: 'value',
      value: 'text',
      doc: 'Prefix of node ids, without the dash (default: any)',
    },
  ],
  examples: ['campaign validate turns.jsonl --default-sku model-2026-01 --framework one --framework two'],
  run: validate,
});

/** Records between two updates of the progress. */
const PROGRESS_EVERY = 5000;

interface Checked {
  readonly line: number;
  readonly valid: boolean;
  readonly sku_mismatch: boolean;
  readonly problems: readonly RecordProblem[];
}

async function validate(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const check = campaignRecordCheck({
    frameworks: parsed.flags.get('framework') ?? [],
    agents: parsed.flags.get('agent') ?? [],
    nodePrefix: flagValue(parsed, 'node-prefix') ?? null,
  });
  if (!check.ok) return failed(check.error);
  const text = fileText(parsed.positionals[0] as string);
  if (!text.ok) return failed(text.error);
  const records = jsonRecords(text.value);
  if (records.length === 0) return fail('INVALID_ARGUMENT', 'the file holds no records');

  const json = isSet(parsed, 'json');
  const progress = new Progress(process.stderr, 'records checked');
  const sku = flagValue(parsed, 'default-sku') ?? null;
  const results = records.map((record, index) => {
    if (!json && index % PROGRESS_EVERY === 0 && index > 0) progress.update(index);
    return checked(record, check.value, sku);
  });
  progress.end();
  const invalid = results.filter(({ valid }) => !valid).length;
  const answer = {
    valid: invalid === 0,
    records: results.length,
    invalid,
    sku_mismatches: results.filter(({ sku_mismatch }) => sku_mismatch).length,
    results,
  };
  await terminal.print(json ? `${JSON.stringify(answer)}\n` : report(answer));
  return ok(answer.valid ? 0 : 1);
}

function checked(record: FileRecord, check: RecordCheck, sku: string | null): Checked {
  const { line } = record;
  if ('problem' in record) {
    return { line, valid: false, sku_mismatch: false, problems: [{ path: '', message: record.problem }] };
  }
  const problems = check(record.value);
  const used = (record.value as { llm_model_sku?: unknown } | null)?.llm_model_sku;
  const mismatch = sku !== null && typeof used === 'string' && used !== sku;
  return { line, valid: problems.length === 0, sku_mismatch: mismatch, problems };
}

function fileText(path: string): Result<string> {
  let bytes: Buffer;
  try {
    // Standard input is file descriptor 0.
    const file = path === '-' ? 0 : path;
    if (file !== 0 && statSync(file).size > CAMPAIGN_FILE_BYTES_MAX) return tooLong();
    bytes = readFileSync(file);
  } catch (error) {
    return fail('INVALID_ARGUMENT', `cannot read the file: ${(error as Error).message}`);
  }
  if (bytes.length > CAMPAIGN_FILE_BYTES_MAX) return tooLong();
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return fail('INVALID_ARGUMENT', `${path} is not valid UTF-8`);
  }
}

const tooLong = () =>
  fail('PAYLOAD_TOO_LARGE', `a campaign's log may have at most ${CAMPAIGN_FILE_BYTES_MAX} bytes; split it`);

function report(answer: {
  readonly records: number;
  readonly invalid: number;
  readonly sku_mismatches: number;
  readonly results: readonly Checked[];
}): string {
  const lines = answer.results.flatMap(({ line, problems, sku_mismatch }) => [
    ...problems.map(({ path, message }) => `line ${line}: ${oneLine(`${path} ${message}`)}`),
    ...(sku_mismatch ? [`line ${line}: sku_mismatch`] : []),
  ]);
  const verdict = answer.invalid === 0 ? 'all valid' : `${answer.invalid} invalid`;
  const flagged = answer.sku_mismatches === 0 ? '' : `, ${answer.sku_mismatches} with another model`;
  return [...lines, `${PROGRAM} campaign: ${answer.records} records, ${verdict}${flagged}`, ''].join('\n');
}
