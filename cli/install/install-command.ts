import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { inspectConfiguration } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import { createFile, replaceFile } from '../../node/config/replace-file.js';
import { profileOf } from '../../node/config/tool-profile.js';
import { clientAgentId } from '../../node/identity/local-caller.js';
import { instructionsFor } from '../../node/mcp/instructions.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import { agentIdProblem } from '../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag, Positional } from '../command.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingSources } from '../global-flags.js';
import { keptServer, passingProgram, shellWord } from '../start-hints.js';
import type { Terminal } from '../terminal.js';
import { HOOKS, hookPlace, instructionsPlace, PLACES, type Place, type Start } from './clients.js';
import { lineChanges } from './line-changes.js';
import { NotEditableError } from './not-editable.js';

const FILE_FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'config',
    kind: 'value',
    value: 'path',
    path: 'file',
    doc: "The client's file (its usual one), instead of the configuration file of this program",
  },
  {
    name: 'project',
    kind: 'value',
    value: 'folder',
    path: 'folder',
    doc: 'The project whose instructions are meant, instead of the file for all projects',
  },
  { name: 'no-instructions', kind: 'switch', doc: "Leave the client's instructions as they are" },
  {
    name: 'hook',
    kind: 'value',
    value: Object.keys(HOOKS).join('|'),
    choices: Object.keys(HOOKS),
    doc: 'A hook of claude-code instead of the MCP server: memories at the start, or recovery at the end of a session',
  },
  { name: 'dry-run', kind: 'switch', doc: 'Only show the change' },
  { name: 'apply', kind: 'switch', doc: 'Change the files, as without it' },
];

const TARGET: Positional = {
  name: 'target',
  doc: `The client: ${Object.keys(PLACES).join(', ')}`,
  choices: Object.keys(PLACES),
};

/**
 * Puts this program into the configuration of a client, and how it is used well into the client's instructions
 * (reference-mcp-cli §2.2, session).
 */
export const installCommand = defineCommand({
  name: 'install',
  summary: 'Give a client this memory: its MCP configuration and its instructions. The old files are kept.',
  flags: [
    {
      name: 'agent-id',
      kind: 'value',
      value: 'id',
      doc: 'The agent that the client is (ai:<client>@<host>, or the one that it is already)',
    },
    {
      name: 'binary',
      kind: 'value',
      value: 'path',
      path: 'file',
      doc: 'What the client starts (this program, as it runs now)',
    },
    { name: 'force', kind: 'switch', doc: 'Replace an entry of the same name that starts another program' },
    { name: 'uninstall', kind: 'switch', doc: 'Take this program out again, as `uninstall`' },
    ...FILE_FLAGS,
  ],
  positionals: [TARGET],
  examples: ['install claude-code', 'install cursor --project . --dry-run', 'install codex --agent-id ai:me'],
  run: (parsed, terminal) => change(parsed, terminal, isSet(parsed, 'uninstall') ? 'uninstall' : 'install'),
});

/** Takes this program out of the configuration and the instructions of a client. */
export const uninstallCommand = defineCommand({
  name: 'uninstall',
  summary: 'Take this memory out of a client again. The old files are kept.',
  flags: FILE_FLAGS,
  positionals: [TARGET],
  examples: ['uninstall claude-code', 'uninstall cursor --project . --dry-run'],
  run: (parsed, terminal) => change(parsed, terminal, 'uninstall'),
});

type Action = 'install' | 'uninstall';

/** A change of one file; `text` is what it becomes. */
interface FileChange {
  readonly place: Place;
  readonly old: string | null;
  readonly text: string;
  readonly changed: boolean;
}

async function change(parsed: ParsedArguments, terminal: Terminal, action: Action): Promise<Result<number>> {
  if (isSet(parsed, 'apply') && isSet(parsed, 'dry-run'))
    return fail('INVALID_ARGUMENT', '--apply and --dry-run contradict each other', { fields: ['apply'] });
  const target = parsed.positionals[0]!;
  const project = flagValue(parsed, 'project');
  if (project !== undefined && !existsSync(absolutePath(project)))
    return fail('INVALID_ARGUMENT', `--project: there is no folder ${absolutePath(project)}`, {
      fields: ['project'],
    });
  const place = placeOf(parsed);
  if (!place.ok) return failed(place.error);
  const start = startOf(parsed, place.value);
  if (!start.ok) return failed(start.error);
  // Both are known to be possible before the first is written.
  const config = changeOf(place.value, action, start.value, isSet(parsed, 'force'));
  if (!config.ok) return failed(config.error);
  const rules = instructionsOf(parsed);
  const instructions = rules === null ? null : changeOf(rules, action, start.value, false);
  if (instructions !== null && !instructions.ok) return failed(instructions.error);
  const apply = !isSet(parsed, 'dry-run');
  const configured = told(config.value, start.value, apply);
  if (!configured.ok) return failed(configured.error);
  const instructed = instructions === null ? ok(null) : told(instructions.value, start.value, apply);
  if (!instructed.ok) {
    const { code, message } = instructed.error;
    return fail(code, configured.value.applied ? `${message}; ${place.value.path} was` : message);
  }
  const report: Report = {
    target,
    action,
    agent_id: action === 'install' ? (start.value.env['SVC_AGENT_ID'] ?? null) : null,
    ...configured.value,
    instructions: instructed.value,
  };
  await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(report)}\n` : textOf(report, parsed));
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

function instructionsOf(parsed: ParsedArguments): Place | null {
  if (isSet(parsed, 'no-instructions') || flagValue(parsed, 'hook') !== undefined) return null;
  const project = flagValue(parsed, 'project');
  const lines = instructionsFor(profileOf('core')).split('\n');
  return instructionsPlace(parsed.positionals[0]!, project === undefined ? null : absolutePath(project), [
    '## Memory (mnemesh)',
    '',
    ...lines,
  ]);
}

function changeOf(place: Place, action: Action, start: Start, force: boolean): Result<FileChange> {
  try {
    const old = textAt(place.path);
    const before = old === null || old.trim() === '' ? place.empty : old;
    const foreign = place.foreign(before);
    if (foreign !== null && !(action === 'install' && force))
      return fail(
        'CONFLICT',
        `${place.path} has ${foreign}; nothing was changed${action === 'install' ? ', --force replaces it' : ''}`,
      );
    const text = action === 'install' ? place.put(before, start) : place.remove(before);
    return ok({ place, old, text, changed: text !== (old ?? place.empty) });
  } catch (error) {
    if (!(error instanceof NotEditableError)) throw error;
    const hint =
      action === 'install'
        ? `add by hand what starts this program: ${JSON.stringify(start)}`
        : 'take this program out by hand';
    return fail('CONFIG_INVALID', `${place.path} ${error.message}; nothing was changed, ${hint}`);
  }
}

/** The text of a file; null where there is none. Throws NotEditableError where it has no text that can be kept as it is. */
function textAt(path: string): string | null {
  let bytes: Buffer;
  try {
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file === undefined) return null;
    if (file.isSymbolicLink() && !existsSync(path))
      throw new NotEditableError('is a link to a file that is not there');
    bytes = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : new NotEditableError(`cannot be read (${code})`);
  }
  const text = bytes.toString('utf8');
  if (!bytes.equals(Buffer.from(text))) throw new NotEditableError('is not UTF-8');
  return text;
}

/** What is answered about a file, after it was changed if it shall be. */
interface Told {
  readonly config: string;
  readonly changed: boolean;
  readonly applied: boolean;
  readonly backup: string | null;
  readonly changes: readonly string[];
}

function told({ place, old, text, changed }: FileChange, start: Start, apply: boolean): Result<Told> {
  const applied = changed && apply;
  const backup = applied ? written(place, old, text) : ok(null);
  if (!backup.ok) return failed(backup.error);
  const lines = lineChanges(old ?? '', changed ? text : (old ?? ''));
  const changes = lines.map((line) => place.shown(line, start));
  return ok({ config: place.path, changed, applied, backup: backup.value, changes });
}

interface Report extends Told {
  readonly target: string;
  readonly action: Action;
  readonly agent_id: string | null;
  readonly instructions: Told | null;
}

/** How a client starts this program with the node that this command works on. */
function startOf(parsed: ParsedArguments, place: Place): Result<Start> {
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
  const server = keptServer({ settings, origins });
  if (!server.ok) return failed(server.error);
  const [command, ...args] = program;
  const agentId = agentOf(parsed, place);
  const problem = agentIdProblem(agentId);
  if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
  return ok({
    command: command!,
    args: [...args, 'mcp', ...db, ...server.value.words],
    env: {
      ...{ SVC_AGENT_ID: agentId, ...server.value.env },
      ...(isNamed('home') ? { SVC_HOME: settings.home } : {}),
    },
  });
}

/** A client stays the agent that it is; else a later installation would hide its own private memories from it. */
function agentOf(parsed: ParsedArguments, place: Place): string {
  const named = flagValue(parsed, 'agent-id');
  if (named !== undefined) return named;
  try {
    const old = textAt(place.path) ?? '';
    return place.agentId(old.trim() === '' ? place.empty : old) ?? ownId(parsed);
  } catch (error) {
    if (error instanceof NotEditableError) return ownId(parsed);
    throw error;
  }
}

const ownId = (parsed: ParsedArguments) => clientAgentId(parsed.positionals[0]!, hostname());

/** Writes the file, and answers where the old one is kept; null where there was none. */
function written(place: Place, before: string | null, after: string): Result<string | null> {
  try {
    if (before === null) {
      mkdirSync(dirname(place.path), { recursive: true });
      createFile(place.path, after, systemRandom);
      return ok(null);
    }
    const backup = replaceFile(place.path, before, after, systemClock, systemRandom);
    if (place.isSpent(after)) rmSync(place.path);
    return ok(backup);
  } catch (error) {
    const reason = `${place.path} could not be written: ${(error as Error).message}`;
    return fail('UNAVAILABLE', `${reason}; it was not changed`);
  }
}

function textOf(report: Report, parsed: ParsedArguments): string {
  const files = [report, ...(report.instructions === null ? [] : [report.instructions])];
  const lines = files.flatMap((file) => fileLines(report, file));
  const changed = files.some((file) => file.changed);
  if (changed && isSet(parsed, 'dry-run')) lines.push('nothing was changed yet: without --dry-run, it is');
  if (files.some((file) => file.applied)) lines.push(`restart ${report.target} to use it`);
  if (report.action === 'install' && report.agent_id !== null && flagValue(parsed, 'hook') === undefined)
    lines.push(`it is the agent ${report.agent_id}: --agent-id names another one`);
  if (lacksInstructions(report, parsed))
    lines.push(
      `${report.target} has no instructions for all projects: --project <folder> writes those of one`,
    );
  lines.push(...passingProgram());
  return `${lines.join('\n')}\n`;
}

const lacksInstructions = ({ target, action, instructions }: Report, parsed: ParsedArguments) =>
  action === 'install' &&
  instructions === null &&
  !isSet(parsed, 'no-instructions') &&
  flagValue(parsed, 'hook') === undefined &&
  instructionsPlace(target, '', []) !== null;

function fileLines(
  { target, action }: Report,
  { config, changed, applied, backup, changes }: Told,
): string[] {
  if (!changed) {
    const how = action === 'install' ? 'has this program already' : 'does not have this program';
    return [`${target}: ${config} ${how}`];
  }
  return [
    `${target}: ${applied ? 'changed' : 'would change'} ${config}`,
    ...changes.map((line) => `  ${line}`),
    ...(backup === null ? [] : [`the old file is ${backup}`]),
  ];
}
