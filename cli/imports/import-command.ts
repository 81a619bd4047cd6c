import { createReadStream, realpathSync, statSync } from 'node:fs';
import { besideDatabase } from '../../node/config/store-url.js';
import type { Caller } from '../../node/identity/caller.js';
import { systemCrypto, systemRandom } from '../../node/seams.js';
import { storeNamespaceProblem } from '../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { TIERS } from '../../protocol/memory/memory.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';
import { fileAt, filesBelow, type SourceFile } from '../mine/source-file.js';
import { UnreadableError } from '../mine/text-of.js';
import { Progress } from '../progress.js';
import type { Terminal } from '../terminal.js';
import { oneLine } from '../views/text.js';
import { type Found, findFormat, IMPORTED } from './find-format.js';
import { FORMATS, type FormatName, type Tell } from './format.js';
import { ImportReport } from './import-report.js';
import { Importer } from './importer.js';
import { importOwnExport } from './own-export.js';
import { RunJournal, runNamed, runsOf } from './run-journal.js';
import { standardInput } from './standard-input.js';
import { undoExport } from './undo-export.js';
import { UndoReport, undoImport } from './undo-import.js';

/** Flags that only an export of this service takes, and those that only other sources take. */
const OWN_FLAGS = ['trust-source', 'on-conflict'];
const FOREIGN_FLAGS = ['namespace', 'tier', 'folders'];

/** Imports an export of any size, or the memories of another program (interface §4.10). */
export const importCommand = defineCommand({
  name: 'import',
  summary:
    'Import memories from notes, tables and other memory services, or an export of mnemesh. Importing again changes nothing.',
  flags: [
    {
      name: 'format',
      short: 'f',
      kind: 'value',
      value: 'format',
      choices: FORMATS,
      doc: `What the source is: ${FORMATS.join(', ')} (found out)`,
    },
    {
      ...{ name: 'namespace', short: 'n', kind: 'value', value: 'text' },
      doc: 'Namespace of the memories (import/<format>)',
    },
    { name: 'tier', short: 't', kind: 'value', value: TIERS.join('|'), choices: TIERS, doc: 'Tier (long)' },
    {
      ...{ name: 'folders', kind: 'switch' },
      doc: 'Make the folders of notes, and the namespaces that rows name, namespaces below --namespace',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only say what would be done' },
    { name: 'undo', kind: 'value', value: 'run', doc: 'Take back what a run of import made' },
    { name: 'runs', kind: 'switch', doc: 'List the runs of import on this database' },
    {
      ...{ name: 'trust-source', kind: 'switch' },
      doc: 'Of an export of mnemesh: keep the agents of memories and records and the attestations of links, and take policies, rules, remembered decisions and messages',
    },
    {
      ...{ name: 'on-conflict', kind: 'value', value: 'choice' },
      doc: 'Of an export of mnemesh: error or merge, what becomes of a memory whose title another one holds (error)',
    },
  ],
  positionals: [
    {
      ...{ name: 'path', required: false, path: 'file' },
      doc: 'A file or a folder, or - for standard input (the default)',
    },
  ],
  examples: [
    'import ~/notes --dry-run',
    'import memory.json --namespace team',
    'import --trust-source backup.json',
  ],
  run: importAny,
});

async function importAny(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  if (isSet(parsed, 'runs')) return listRuns(parsed, terminal);
  const undone = flagValue(parsed, 'undo');
  if (undone !== undefined) return undo(parsed, terminal, undone);
  const path = parsed.positionals[0] ?? '-';
  const wanted = (flagValue(parsed, 'format') as FormatName | undefined) ?? null;
  const problems: string[] = [];
  const files = await filesAt(path, problems);
  if (!files.ok) return failed(files.error);
  const found = await findFormat(files.value, { path: shown(path), wanted });
  if (!found.ok) return failed(found.error);
  const misplaced = misplacedFlag(parsed, found.value.format);
  if (misplaced !== null) return misplaced;
  if (found.value.format === 'mnemesh') {
    const journals = besideDatabase(settingsFor(parsed));
    const beginning = { format: 'mnemesh', path: shown(path), namespace: '', source: exportAt(path) };
    const begin = () => RunJournal.begin(journals, beginning);
    return importOwnExport(parsed, terminal, { file: files.value[0]!, begin });
  }
  return importForeign(parsed, terminal, { path, found: found.value, problems });
}

const shown = (path: string): string => (path === '-' ? 'standard input' : path);

function misplacedFlag(parsed: ParsedArguments, format: FormatName): Result<never> | null {
  const [wrong, what] =
    format === 'mnemesh' ? [FOREIGN_FLAGS, 'other sources'] : [OWN_FLAGS, 'an export of mnemesh'];
  const flag = wrong.find((name) => parsed.flags.has(name));
  if (flag === undefined) return null;
  return fail('VALIDATION_FAILED', `--${flag} is for ${what}; this is ${format}: leave it out`, {
    fields: [flag.replaceAll('-', '_')],
  });
}

async function filesAt(path: string, problems: string[]): Promise<Result<SourceFile[]>> {
  if (path === '-') return ok([standardInput(process.stdin)]);
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind === undefined)
    return fail('INVALID_ARGUMENT', 'cannot read the input: there is no such file; nothing was imported');
  if (kind.isDirectory())
    return filesBelow(path, { add: (at, problem) => problems.push(`${at}: ${problem}`) }, IMPORTED);
  // A pipe of a shell (`<(command)`) can be read only once.
  return ok([kind.isFile() ? fileAt(path) : standardInput(createReadStream(path), path)]);
}

interface Source {
  readonly path: string;
  readonly found: Exclude<Found, { readonly format: 'mnemesh' }>;
  readonly problems: readonly string[];
}

async function importForeign(
  parsed: ParsedArguments,
  terminal: Terminal,
  { path, found, problems }: Source,
): Promise<Result<number>> {
  const namespace = (flagValue(parsed, 'namespace') ?? `import/${found.format}`).normalize('NFC');
  const problem = storeNamespaceProblem(namespace);
  if (problem !== null)
    return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
  const dryRun = isSet(parsed, 'dry-run');
  const report = new ImportReport(found.format, namespace, dryRun);
  for (const each of problems) report.notice(each);
  const [other] = found.others;
  const more = found.others.length > 1 ? ` and ${found.others.length - 1} more` : '';
  if (other !== undefined) report.notice(`${other}${more}: not ${found.format}, left out`);
  const journals = besideDatabase(settingsFor(parsed));
  const done = await withLocalRunner(parsed, (runner, caller) => {
    const place = placeOf(path);
    const source = sourceOf(place, found.format, namespace, caller);
    const importer = new Importer({
      ...{ runner, caller, report, namespace, dryRun, source, format: found.format },
      isPiped: place === PIPE,
      folders: isSet(parsed, 'folders'),
      tier: flagValue(parsed, 'tier') ?? 'long',
      begin: () => RunJournal.begin(journals, { format: found.format, path: shown(path), namespace, source }),
    });
    return readAll(found.files, importer, report);
  });
  if (!done.ok) {
    // What was imported before stays.
    const { code, message } = done.error;
    return fail(code, `${message}; ${report.sentence()} before that`);
  }
  if (isSet(parsed, 'json')) await terminal.print(`${JSON.stringify(report.json())}\n`);
  else {
    for (const line of [...report.problems, ...report.notices]) await terminal.complain(`${oneLine(line)}\n`);
    await terminal.print(report.text());
  }
  return ok(report.leftOut === 0 ? 0 : 1);
}

/** Names an export; an import of it that was killed goes on when it is called again, except from a pipe. */
function exportAt(path: string): string {
  const isFile = path !== '-' && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const name = isFile ? realpathSync(path) : Buffer.from(systemRandom.bytes(16)).toString('hex');
  return systemCrypto.sha256Hex(JSON.stringify(['mnemesh', name]));
}

/** The place of what has none: pipes have other names each time. */
const PIPE = '-';

function placeOf(path: string): string {
  const kind = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  return kind?.isFile() === true || kind?.isDirectory() === true ? realpathSync(path) : PIPE;
}

/** Names a source, where its memories go, and whose they are: the same words give the same memories. */
function sourceOf(place: string, format: string, namespace: string, { viewer }: Caller): string {
  const whose = viewer.all ? '' : viewer.agentId;
  return systemCrypto.sha256Hex(JSON.stringify([format, place, namespace, whose]));
}

const telling =
  ({ path }: SourceFile, report: ImportReport): Tell =>
  (what, outcome) =>
    outcome === 'taken' ? report.notice(`${path}: ${what}`) : report.problem(path, what);

async function readAll(
  files: Source['found']['files'],
  importer: Importer,
  report: ImportReport,
): Promise<Result<null>> {
  const progress = new Progress(process.stderr, 'rows:');
  const all = files.reduce((sum, { file }) => sum + file.size, 0);
  let before = 0;
  try {
    for (const { file, format } of files) {
      try {
        for await (const row of format.read(file, telling(file, report))) {
          const taken = await importer.take(row);
          if (!taken.ok) return taken;
          progress.say(`${report.total} (${Math.floor((before / Math.max(1, all)) * 100)} %)`);
        }
      } catch (error) {
        const isKnown =
          error instanceof UnreadableError || (error as NodeJS.ErrnoException).code !== undefined;
        if (!isKnown) throw error;
        report.problem(file.path, (error as Error).message);
      }
      before += file.size;
    }
    return await importer.finish();
  } finally {
    progress.end();
  }
}

async function undo(parsed: ParsedArguments, terminal: Terminal, name: string): Promise<Result<number>> {
  const journals = besideDatabase(settingsFor(parsed));
  const run = runNamed(journals, name);
  if (run === null) {
    const message = `there is no import "${name}" on this database; mnemesh import --runs lists them`;
    return fail('NOT_FOUND', message);
  }
  const dryRun = isSet(parsed, 'dry-run');
  const report = new UndoReport(run.run, dryRun);
  const later = runsOf(journals)
    .filter(({ began_at }) => began_at > run.began_at)
    .reverse();
  const done = await withLocalRunner(parsed, (runner, caller) =>
    run.format === 'mnemesh'
      ? undoExport({ runner, caller }, run, { report, dryRun, later })
      : undoImport({ runner, caller }, run, { report, dryRun, later }),
  );
  if (!done.ok) return fail(done.error.code, `${done.error.message}; ${report.sentence()} before that`);
  if (!dryRun) RunJournal.undone(journals, run.run, report.versions);
  if (isSet(parsed, 'json')) await terminal.print(`${JSON.stringify(report.json())}\n`);
  else {
    for (const line of report.reasons) await terminal.complain(`${line}\n`);
    await terminal.print(`${report.sentence()}\n`);
  }
  return ok(0);
}

async function listRuns(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const runs = runsOf(besideDatabase(settingsFor(parsed))).map(
    ({ rows: _rows, calls: _calls, restored: _restored, source: _source, ...run }) => run,
  );
  if (isSet(parsed, 'json')) {
    await terminal.print(`${JSON.stringify({ runs, count: runs.length })}\n`);
    return ok(0);
  }
  for (const { run, format, path, namespace, done, ended_at, undone_at } of runs) {
    const made = done === null ? '' : `, ${done['imported']} imported, ${done['updated']} updated`;
    const into = namespace === '' ? '' : ` into ${namespace}`;
    const state = undone_at !== null ? ', taken back' : ended_at === null ? ', did not end' : '';
    await terminal.print(`${run}  ${format} from ${oneLine(path)}${into}${made}${state}\n`);
  }
  if (runs.length === 0) await terminal.print('no runs of import on this database\n');
  return ok(0);
}
