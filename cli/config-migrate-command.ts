import { readFileSync } from 'node:fs';
import { CLIENTS, cleanClient, clientConfigPath } from '../node/config/client-config.js';
import { inlineKeySections, parseToml } from '../node/config/config-file.js';
import type { Table } from '../node/config/config-table.js';
import { inspectConfiguration } from '../node/config/load-settings.js';
import { type MigratedText, migrateText, NotMigratableError } from '../node/config/migrate-text.js';
import { replaceFile } from '../node/config/replace-file.js';
import { systemClock, systemRandom } from '../node/seams.js';
import { ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { settingSources } from './global-flags.js';
import { failureText } from './report-failure.js';
import type { Terminal } from './terminal.js';
import { printable } from './views/text.js';

const EXIT = { done: 0, wouldChange: 1, missing: 2, refused: 3, writeFailed: 4 } as const;

/** Rewrites a legacy configuration file into sections (interface §4.15, §9.6). */
export const configMigrateCommand = defineCommand({
  name: 'config migrate',
  summary: 'Rewrite a legacy configuration file into its sectioned form.',
  flags: [
    {
      name: 'dry-run',
      kind: 'switch',
      doc: 'Show what would change without changing it; exit 1 if something would change',
    },
    ...CLIENTS.map((client) => ({
      name: `also-clean-${client}-config`,
      kind: 'switch' as const,
      doc: `Remove from ${client}'s configuration the variables that repeat the file`,
    })),
  ],
  examples: ['config migrate --dry-run', 'config migrate', 'config migrate --also-clean-cursor-config'],
  run: migrate,
});

/** Ends the command with a message and an exit code. */
class Stop extends Error {
  constructor(
    readonly exit: number,
    message: string,
  ) {
    super(message);
  }
}

async function migrate(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const json = isOn(parsed, 'json');
  try {
    const answer = run(parsed);
    const dry = isOn(parsed, 'dry-run');
    const changed = answer.changed || answer.clients.some((client) => client.removed.length > 0);
    await terminal.print(json ? `${JSON.stringify(answer)}\n` : report(answer));
    return ok(dry && changed ? EXIT.wouldChange : EXIT.done);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    await terminal.complain(failureText({ code: 'CONFIG_INVALID', message: error.message }, json, ''));
    return ok(error.exit);
  }
}

function run(parsed: ParsedArguments) {
  const { path } = inspectConfiguration(...settingSources(parsed)).file;
  const dryRun = isOn(parsed, 'dry-run');
  const text = textOf(path);
  const values = valuesOf(text, path);
  const migrated = migratedText(text, values, path);
  const after = migrated === null ? values : valuesOf(migrated.text, path);
  const backup = migrated === null || dryRun ? null : written(path, text, migrated.text);
  const clients = CLIENTS.filter((client) => isOn(parsed, `also-clean-${client}-config`)).map((client) =>
    clean(client, after, dryRun),
  );
  return {
    file: path,
    dry_run: dryRun,
    changed: migrated !== null,
    backup,
    moved: migrated?.moved ?? [],
    dropped: migrated?.dropped ?? [],
    comments_kept: migrated?.commentsKept ?? true,
    clients,
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? `there is no file ${path}, so there is nothing to migrate`
        : `cannot read ${path}: ${code}`;
    throw new Stop(EXIT.missing, why);
  }
}

function valuesOf(text: string, path: string): Table {
  const parsed = parseToml(text, path);
  if ('code' in parsed) throw new Stop(EXIT.refused, parsed.message);
  return parsed.values;
}

// Decision: a key in the file is never moved. The backup would keep it readable, and the operator would not know of a
// key
// file that appears without being asked for.
function migratedText(text: string, values: Table, path: string): MigratedText | null {
  const inline = inlineKeySections(values);
  if (inline.length > 0) {
    const named = inline.map((section) => `[${section}]`).join(', ');
    throw new Stop(
      EXIT.refused,
      `${path} holds a literal api_key in ${named}; nothing was changed. Put the key into a file of mode 0400 and ` +
        'write api_key_file = "<path>" in its place, then migrate again',
    );
  }
  try {
    return migrateText(text, values);
  } catch (error) {
    if (error instanceof NotMigratableError) throw new Stop(EXIT.refused, `${path}: ${error.message}`);
    throw error;
  }
}

function written(path: string, before: string, after: string): string {
  try {
    return replaceFile(path, before, after, systemClock, systemRandom);
  } catch (error) {
    throw new Stop(EXIT.writeFailed, `${path} could not be rewritten: ${(error as Error).message}`);
  }
}

function clean(client: string, values: Table, dryRun: boolean) {
  const path = clientConfigPath(client);
  const nothing = { client, file: path, removed: [], differing: [], secrets: [], backup: null };
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { ...nothing, note: `not read: ${(error as NodeJS.ErrnoException).code}` };
  }
  try {
    const { text: cleaned, ...found } = cleanClient(text, values);
    const backup = cleaned === null || dryRun ? null : written(path, text, cleaned);
    return { client, file: path, ...found, backup, note: null };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { ...nothing, note: 'not changed: it is not valid JSON' };
  }
}

type Answer = ReturnType<typeof run>;

function report(answer: Answer): string {
  const would = answer.dry_run ? 'would move' : 'moved';
  const lines = [
    ...answer.moved.map(({ field, key }) => `${would}: ${field} -> ${key}`),
    ...answer.dropped.map(({ field, key }) => `left out: ${field}, because ${key} is set already`),
  ];
  if (!answer.changed) lines.push(`${answer.file} is already in the current form`);
  if (!answer.comments_kept) lines.push('comments could not be kept; the backup has them');
  if (answer.backup !== null) lines.push(`wrote ${answer.file}`, `backup: ${answer.backup}`);
  for (const client of answer.clients) {
    lines.push(`${client.client} (${client.file}): ${clientLine(client)}`);
  }
  return `${lines.map(printable).join('\n')}\n`;
}

function clientLine(client: Answer['clients'][number]): string {
  if (client.note !== null) return client.note;
  const parts = [
    client.removed.length > 0 ? `removed ${client.removed.join(', ')}` : 'nothing to remove',
    ...(client.differing.length > 0 ? [`kept, differs from the file: ${client.differing.join(', ')}`] : []),
    ...(client.secrets.length > 0 ? [`kept, holds a key in plain text: ${client.secrets.join(', ')}`] : []),
    ...(client.backup === null ? [] : [`backup: ${client.backup}`]),
  ];
  return parts.join('; ');
}

const isOn = (parsed: ParsedArguments, name: string) => parsed.flags.get(name)?.at(-1) === 'true';
