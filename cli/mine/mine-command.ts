import { statSync } from 'node:fs';
import { join } from 'node:path';
import { userFolder } from '../../node/config/paths.js';
import { namespaceNameProblem } from '../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { TIERS } from '../../protocol/memory/memory.js';
import { ON_CONFLICT } from '../../protocol/memory/on-conflict.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { Progress } from '../progress.js';
import { numberFlag } from '../sessions/number-flag.js';
import type { Terminal } from '../terminal.js';
import { oneLine } from '../views/text.js';
import { dayQuotaNotices } from './day-quota.js';
import { findSources } from './formats/find-sources.js';
import { FORMATS, type FormatName, LOOKED_FOR, type Source } from './formats/format.js';
import type { MineOptions } from './mine-options.js';
import { MineReport } from './mine-report.js';
import { Miner } from './miner.js';
import { fileAt, filesBelow, type Problems, type SourceFile } from './source-file.js';
import { bytesOf } from './text-of.js';
import { filesOfZip } from './zip.js';

const MESSAGES_MIN = 3;

/** Where programs keep their sessions. */
const FOLDERS: Readonly<Partial<Record<FormatName, string>>> = {
  'claude-code': '.claude/projects',
  codex: '.codex/sessions',
  'gemini-cli': '.gemini/tmp',
  opencode: '.local/share/opencode/storage',
};

/** Imports conversations, each as a memory (reference-mcp-cli §2.2, io). Importing them again changes nothing. */
export const mineCommand = defineCommand({
  name: 'mine',
  summary: 'Import conversations from exports of chats and from session files of agents, each as one memory.',
  flags: [
    {
      name: 'format',
      short: 'f',
      kind: 'value',
      value: 'format',
      choices: FORMATS,
      doc: `Only this format: ${FORMATS.join(', ')} (what the files are)`,
    },
    {
      name: 'namespace',
      short: 'n',
      kind: 'value',
      value: 'text',
      doc: 'Namespace of the memories (claude-export, codex-sessions and so on)',
    },
    { name: 'tier', short: 't', kind: 'value', value: TIERS.join('|'), choices: TIERS, doc: 'Tier (mid)' },
    {
      name: 'min-messages',
      kind: 'value',
      value: 'number',
      doc: `Leave out conversations with fewer messages (${MESSAGES_MIN})`,
    },
    {
      name: 'on-conflict',
      kind: 'value',
      value: ON_CONFLICT.join('|'),
      choices: ON_CONFLICT,
      doc: 'What becomes of a conversation whose title another memory has (version)',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only say what would be imported' },
  ],
  positionals: [
    {
      name: 'path',
      required: false,
      path: 'file',
      doc: 'A file, a folder or a zip archive; without it, the folder where the program of --format keeps its sessions',
    },
  ],
  examples: ['mine ~/Downloads/export.zip --dry-run', 'mine --format claude-code', 'mine conversations.json'],
  run: mine,
});

async function mine(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const options = optionsOf(parsed);
  if (!options.ok) return failed(options.error);
  const path = pathOf(parsed, options.value.format);
  if (!path.ok) return failed(path.error);
  const report = new MineReport(options.value);
  const sources = await sourcesAt(path.value, options.value.format, report);
  if (!sources.ok) return failed(sources.error);
  const mined = await withLocalRunner(parsed, async (runner, caller) => {
    const miner = new Miner({ runner, caller, options: options.value, report });
    const progress = new Progress(process.stderr, 'conversations:');
    const all = sources.value.reduce((sum, { size }) => sum + size, 0);
    let before = 0;
    try {
      for (const source of sources.value) {
        for await (const conversation of source.read((file, problem) => report.add(file, problem))) {
          const taken = await miner.take(source.format, conversation);
          if (!taken.ok) return failed(taken.error);
          progress.say(`${report.total} (${Math.floor((before / Math.max(1, all)) * 100)} %)`);
        }
        before += source.size;
      }
      const finished = await miner.finish();
      if (!finished.ok) return finished;
      const quota = await dayQuotaNotices({ runner, caller }, report.fresh);
      if (quota.ok) report.notices.push(...quota.value);
      return quota.ok ? ok(null) : failed(quota.error);
    } finally {
      progress.end();
    }
  });
  // What was imported before stays.
  if (!mined.ok) return fail(mined.error.code, `${mined.error.message}; ${report.sentence()} before that`);
  if (isSet(parsed, 'json')) await terminal.print(`${JSON.stringify(report.json())}\n`);
  else {
    for (const line of [...report.problems, ...report.notices]) await terminal.complain(`${oneLine(line)}\n`);
    await terminal.print(report.text());
  }
  return ok(report.errors === 0 ? 0 : 1);
}

function optionsOf(parsed: ParsedArguments): Result<MineOptions> {
  const messagesMin = numberFlag(parsed, 'min-messages', { usual: MESSAGES_MIN, min: 1, max: 1_000_000 });
  if (!messagesMin.ok) return failed(messagesMin.error);
  const namespace = flagValue(parsed, 'namespace')?.normalize('NFC') ?? null;
  const problem = namespace === null ? null : namespaceNameProblem(namespace);
  if (problem !== null)
    return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
  return ok({
    format: (flagValue(parsed, 'format') as FormatName | undefined) ?? null,
    namespace,
    tier: flagValue(parsed, 'tier') ?? 'mid',
    messagesMin: messagesMin.value,
    onConflict: flagValue(parsed, 'on-conflict') ?? 'version',
    dryRun: isSet(parsed, 'dry-run'),
  });
}

function pathOf(parsed: ParsedArguments, format: FormatName | null): Result<string> {
  const named = parsed.positionals[0];
  if (named !== undefined) return ok(named);
  const folder = format === null ? undefined : FOLDERS[format];
  if (folder !== undefined) return ok(join(userFolder(), folder));
  const known = Object.keys(FOLDERS).join(', ');
  return fail(
    'VALIDATION_FAILED',
    `missing required argument: <path>; only the sessions of ${known} are found without it, by --format`,
    { fields: ['path'] },
  );
}

const ZIP = Buffer.from('PK\u0003\u0004', 'latin1');

async function sourcesAt(
  path: string,
  wanted: FormatName | null,
  problems: Problems,
): Promise<Result<readonly Source[]>> {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind === undefined) return fail('INVALID_ARGUMENT', `<path>: there is no file or folder ${path}`);
  if (!kind.isDirectory() && !kind.isFile())
    return fail('INVALID_ARGUMENT', `<path>: ${path} is neither a file nor a folder`);
  const files = kind.isDirectory() ? filesBelow(path, problems) : await filesOf(path);
  if (!files.ok) return failed(files.error);
  return findSources(files.value, { path, wanted, problems });
}

async function filesOf(path: string): Promise<Result<SourceFile[]>> {
  const file = fileAt(path);
  if ((await bytesOf(file, 4)).equals(ZIP)) return filesOfZip(path);
  if (file.size === 0)
    return fail('VALIDATION_FAILED', `${path} is empty; looked for ${LOOKED_FOR}`, { fields: ['path'] });
  return ok([file]);
}
