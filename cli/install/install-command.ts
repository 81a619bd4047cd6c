import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { inspectConfiguration } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import { replaceFile } from '../../node/config/replace-file.js';
import { PrivateFile } from '../../node/private-file.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingSources } from '../global-flags.js';
import { shellWord } from '../start-hints.js';
import type { Terminal } from '../terminal.js';
import { HOOKS, hookPlace, PLACES, type Place, type Start } from './clients.js';
import { NotEditableError } from './edit-json.js';
import { lineChanges } from './line-changes.js';

/** Puts this program into the configuration of a client, or takes it out (reference-mcp-cli §2.2, session). */
export const installCommand = defineCommand({
  name: 'install',
  summary:
    'Put this program into the configuration of a client, or take it out. Without --apply it only shows the change.',
  flags: [
    { name: 'apply', kind: 'switch', doc: 'Change the file; the old one is kept beside it' },
    { name: 'dry-run', kind: 'switch', doc: 'Only show the change, as without --apply' },
    { name: 'uninstall', kind: 'switch', doc: 'Take this program out again' },
    {
      name: 'config',
      kind: 'value',
      value: 'path',
      path: 'file',
      doc: "The client's file (its usual one), instead of the configuration file of this program",
    },
    {
      name: 'binary',
      kind: 'value',
      value: 'path',
      path: 'file',
      doc: 'What the client starts (this program, as it runs now)',
    },
    {
      name: 'hook',
      kind: 'value',
      value: Object.keys(HOOKS).join('|'),
      choices: Object.keys(HOOKS),
      doc: 'A hook of claude-code instead of the MCP server: memories at the start, or recovery at the end of a session',
    },
    { name: 'force', kind: 'switch', doc: 'Replace an entry of the same name that starts another program' },
  ],
  positionals: [
    { name: 'target', doc: `The client: ${Object.keys(PLACES).join(', ')}`, choices: Object.keys(PLACES) },
  ],
  examples: ['install claude-code', 'install codex --apply', 'install cursor --uninstall --apply'],
  run: install,
});

interface Change {
  readonly target: string;
  readonly config: string;
  readonly action: 'install' | 'uninstall';
  readonly changed: boolean;
  readonly applied: boolean;
  readonly backup: string | null;
  readonly changes: readonly string[];
}

async function install(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  if (isSet(parsed, 'apply') && isSet(parsed, 'dry-run'))
    return fail('INVALID_ARGUMENT', '--apply and --dry-run contradict each other', { fields: ['apply'] });
  const place = placeOf(parsed);
  if (!place.ok) return failed(place.error);
  const change = changed(parsed, place.value);
  if (!change.ok) return failed(change.error);
  await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(change.value)}\n` : textOf(change.value));
  return ok(0);
}

function placeOf(parsed: ParsedArguments): Result<Place> {
  const target = parsed.positionals[0]!;
  const named = flagValue(parsed, 'config');
  const file = named === undefined ? null : absolutePath(named);
  const hook = flagValue(parsed, 'hook');
  if (hook === undefined) return ok(PLACES[target]!(file));
  if (target === 'claude-code') return ok(hookPlace(file, hook, (words) => words.map(shellWord).join(' ')));
  return fail(
    'INVALID_ARGUMENT',
    `--hook: only claude-code has hooks that this program knows, not ${target}`,
    {
      fields: ['hook'],
    },
  );
}

function changed(parsed: ParsedArguments, place: Place): Result<Change> {
  const target = parsed.positionals[0]!;
  const action = isSet(parsed, 'uninstall') ? 'uninstall' : 'install';
  const old = existsSync(place.path) ? readFileSync(place.path, 'utf8') : null;
  const before = old === null || old.trim() === '' ? place.empty : old;
  try {
    const foreign = place.foreign(before);
    if (foreign !== null && !(action === 'install' && isSet(parsed, 'force')))
      return fail(
        'CONFLICT',
        `${place.path} has ${foreign}; nothing was changed${action === 'install' ? ', --force replaces it' : ''}`,
      );
    const after = action === 'install' ? place.put(before, startOf(parsed)) : place.remove(before);
    const isSame = after === (old ?? place.empty);
    const applied = isSet(parsed, 'apply') && !isSame;
    const backup = applied ? written(place, old, after) : null;
    const changes = lineChanges(old ?? '', isSame ? (old ?? '') : after);
    return ok({ target, config: place.path, action, changed: !isSame, applied, backup, changes });
  } catch (error) {
    if (!(error instanceof NotEditableError)) throw error;
    const hint = `add by hand what starts this program: ${JSON.stringify(startOf(parsed))}`;
    return fail('CONFIG_INVALID', `${place.path} ${error.message}; nothing was changed, ${hint}`);
  }
}

/** How a client starts this program with the node that this command works on. */
function startOf(parsed: ParsedArguments): Start {
  const [given] = settingSources(parsed);
  const { settings, origins } = inspectConfiguration(given);
  const binary = flagValue(parsed, 'binary');
  const script = process.argv[1]!;
  const program =
    binary === undefined
      ? [process.execPath, existsSync(script) ? realpathSync(script) : script]
      : [binary.includes('/') ? absolutePath(binary) : binary];
  const isNamed = (key: 'home' | 'dbPath') =>
    ['flag', 'environment'].includes(origins.get(key)?.source ?? '');
  const db = isNamed('dbPath') ? ['--db', settings.dbPath] : [];
  const [command, ...args] = program;
  return {
    command: command!,
    args: [...args, 'mcp', ...db],
    env: isNamed('home') ? { SVC_HOME: settings.home } : {},
  };
}

/** Writes the file, and answers where the old one is kept; null where there was none. */
function written(place: Place, before: string | null, after: string): string | null {
  if (before === null) {
    mkdirSync(dirname(place.path), { recursive: true });
    const file = new PrivateFile(place.path, systemRandom.uuid().slice(0, 8));
    file.write(after);
    file.finish();
    return null;
  }
  const backup = replaceFile(place.path, before, after, systemClock, systemRandom);
  if (place.isSpent(after)) rmSync(place.path);
  return backup;
}

function textOf({ target, config, action, changed, applied, backup, changes }: Change): string {
  if (!changed) {
    const how = action === 'install' ? 'has this program already' : 'does not have this program';
    return `${target}: ${config} ${how}\n`;
  }
  const head = `${target}: ${applied ? 'changed' : 'would change'} ${config}`;
  const end = applied
    ? [...(backup === null ? [] : [`the old file is ${backup}`]), 'restart the client to use it']
    : ['nothing was changed yet: --apply changes it'];
  return `${[head, ...changes.map((line) => `  ${line}`), ...end].join('\n')}\n`;
}
