import { existsSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { CLIENT_FILES } from '../../node/config/client-config.js';
import { parseToml } from '../../node/config/config-file.js';
import { userFolder } from '../../node/config/paths.js';
import { editBlock, HASH_MARKS, hasBlock, MARKDOWN_MARKS } from './edit-block.js';
import { editJson, memberOf } from './edit-json.js';
import { maskedLine } from './masked-line.js';
import { NotEditableError } from './not-editable.js';

/** How a client starts this program. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A file of a client, and how this program gets into it and out of it. */
export interface Place {
  readonly path: string;
  /** What a file that is not there begins with. */
  readonly empty: string;
  /** Throws NotEditableError. */
  readonly put: (text: string, start: Start) => string;
  readonly remove: (text: string) => string;
  /** The agent that an earlier installation named; null for none. */
  readonly agentId: (text: string) => string | null;
  /** What stands where this program would be put and is not of this program; null where the place is free. */
  readonly foreign: (text: string) => string | null;
  /** A changed line as it may be printed. */
  readonly shown: (line: string, start: Start) => string;
  /** Whether a text without this program needs no file. */
  readonly isSpent: (text: string) => boolean;
}

const NAME = 'mnemesh';

type Json = Readonly<Record<string, unknown>>;

/** How a client writes the entry of a server, over what its user has added to an earlier one. */
type Entry = (start: Start, old: Json) => Json;

const withEnv = (name: 'env' | 'environment', { env }: Start, old: Json): Json => {
  const before = old[name];
  const kept = typeof before === 'object' && before !== null ? (before as Json) : {};
  const { SVC_HOME: _home, ...others } = kept;
  return { [name]: { ...others, ...env } };
};

const plainEntry: Entry = (start, old) => ({
  ...old,
  ...{ command: start.command, args: start.args },
  ...withEnv('env', start, old),
});

const stdioEntry: Entry = (start, old) => ({ type: 'stdio', ...plainEntry(start, old) });

const openCodeEntry: Entry = (start, old) => ({
  ...{ type: 'local', enabled: true },
  ...old,
  command: [start.command, ...start.args],
  ...withEnv('environment', start, old),
});

/** Words that a client's entry for this program has. */
export const startsProgram = (words: readonly unknown[]): boolean =>
  words.some(
    (word) => typeof word === 'string' && /(^|[\\/])mnemesh(\.cmd)?$|[\\/]cli[\\/]main\.js$/.test(word),
  );

const inJson = (file: string, path: readonly string[], entry: Entry = plainEntry): Place => ({
  path: file,
  empty: '{}\n',
  put: (text, start) => editJson(text, path, entry(start, entryAt(text, path) ?? {})),
  remove: (text) => editJson(text, path, undefined),
  shown: (line, start) => maskedLine(line, JSON.stringify(entry(start, {})), 'command'),
  foreign: (text) => {
    const old = entryAt(text, path);
    return old === null || startsProgram([old['command'], old['args']].flat())
      ? null
      : `an entry "${path.at(-1)}" that starts another program`;
  },
  agentId: (text) => {
    const old = entryAt(text, path);
    const env = (old?.['env'] ?? old?.['environment']) as Json | undefined;
    return typeof env?.['SVC_AGENT_ID'] === 'string' ? env['SVC_AGENT_ID'] : null;
  },
  isSpent: () => false,
});

/** Where only the lines of a block change, which are ours. */
const asTheyAre = (line: string) => line;

function entryAt(text: string, path: readonly string[]): Json | null {
  const entry = memberOf(text, path);
  if (entry === undefined) return null;
  return typeof entry === 'object' && entry !== null ? (entry as Json) : { command: entry };
}

const inToml = (file: string): Place => ({
  path: file,
  empty: '',
  put: (text, { command, args, env }) => {
    const lines = [
      `[mcp_servers.${NAME}]`,
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
      ...(Object.keys(env).length === 0
        ? []
        : [
            `env = { ${Object.entries(env)
              .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
              .join(', ')} }`,
          ]),
    ];
    const edited = editBlock(text, lines, HASH_MARKS);
    tomlOf(edited);
    return edited;
  },
  remove: (text) => editBlock(text, null, HASH_MARKS),
  agentId: quotedAgentId,
  shown: asTheyAre,
  foreign: (text) => {
    const servers = tomlOf(editBlock(text, null, HASH_MARKS))['mcp_servers'] as Json | undefined;
    return servers?.[NAME] === undefined
      ? null
      : `a table [mcp_servers.${NAME}] outside of the managed block`;
  },
  isSpent: () => false,
});

/** The id in a block of TOML or YAML, whose texts are written as in JSON. */
const quotedAgentId = (text: string): string | null =>
  /^# >>> mnemesh[\s\S]*?SVC_AGENT_ID"?(?: = |:) ?"([^"]+)"/m.exec(text)?.[1] ?? null;

function tomlOf(text: string): Json {
  const read = parseToml(text, '');
  if ('code' in read) throw new NotEditableError('is not TOML');
  return read.values;
}

/** A file with nothing but this program. */
const ofItsOwn = (file: string): Place => ({
  path: file,
  empty: '',
  put: (text, { command, args, env }) =>
    editBlock(
      text,
      [
        `name: ${NAME}`,
        'version: 0.0.1',
        'schema: v1',
        'mcpServers:',
        `  - name: ${NAME}`,
        `    command: ${JSON.stringify(command)}`,
        `    args: ${JSON.stringify(args)}`,
        ...(Object.keys(env).length === 0 ? [] : [`    env: ${JSON.stringify(env)}`]),
      ],
      HASH_MARKS,
    ),
  remove: (text) => editBlock(text, null, HASH_MARKS),
  agentId: quotedAgentId,
  shown: asTheyAre,
  foreign: (text) =>
    text.trim() === '' || hasBlock(text, HASH_MARKS) ? null : 'a text without the managed block',
  isSpent: (text) => text.trim() === '',
});

const at = (path: string): string => join(userFolder(), path);

/** The folder of an application's settings, which each platform has elsewhere. */
const SETTINGS: Readonly<Record<string, string>> = {
  darwin: 'Library/Application Support',
  win32: 'AppData/Roaming',
};
const settingsOf = (application: string) => `${SETTINGS[platform()] ?? '.config'}/${application}`;

const CODE = `${settingsOf('Code')}/User`;
const OLD_CLINE = `${CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`;
const SERVERS = ['mcpServers', NAME];

/** Releases of Cline before 2026 know their extension's folder only. */
const usesOldCline = () => existsSync(at(OLD_CLINE)) && !existsSync(at('.cline/data'));

/** The clients, and where each finds its MCP servers. */
export const PLACES: Readonly<Record<string, (file: string | null) => Place>> = {
  'claude-code': (file) => inJson(file ?? at(CLIENT_FILES['claude-code']!), SERVERS),
  'claude-desktop': (file) => inJson(file ?? at(CLIENT_FILES['claude-desktop']!), SERVERS),
  cursor: (file) => inJson(file ?? at(CLIENT_FILES['cursor']!), SERVERS),
  vscode: (file) => inJson(file ?? at(`${CODE}/mcp.json`), ['servers', NAME], stdioEntry),
  windsurf: (file) => inJson(file ?? at(CLIENT_FILES['windsurf']!), SERVERS),
  zed: (file) =>
    inJson(
      file ?? at(platform() === 'win32' ? 'AppData/Roaming/Zed/settings.json' : '.config/zed/settings.json'),
      ['context_servers', NAME],
    ),
  codex: (file) => inToml(file ?? at('.codex/config.toml')),
  'gemini-cli': (file) => inJson(file ?? at(CLIENT_FILES['gemini-cli']!), SERVERS),
  opencode: (file) => inJson(file ?? at('.config/opencode/opencode.json'), ['mcp', NAME], openCodeEntry),
  cline: (file) =>
    inJson(file ?? at(usesOldCline() ? OLD_CLINE : '.cline/data/settings/cline_mcp_settings.json'), SERVERS),
  continue: (file) => ofItsOwn(file ?? at(`.continue/mcpServers/${NAME}.yaml`)),
  'grok-cli': (file) => inToml(file ?? at('.grok/config.toml')),
  openclaw: (file) => inJson(file ?? at('.openclaw/openclaw.json'), ['mcp', 'servers', NAME]),
};

/** What a file of rules that has only this program's begins with. */
const FRONT: Readonly<Record<string, string>> = {
  cursor: '---\ndescription: Memory across sessions\nalwaysApply: true\n---\n',
  vscode: "---\napplyTo: '**'\n---\n",
  windsurf: '---\ntrigger: always_on\n---\n',
};

/** The files that clients read instructions from: for all projects of a user, and in one project. */
const INSTRUCTIONS: Readonly<
  Record<string, { readonly user: string | null; readonly project: string | null }>
> = {
  'claude-code': { user: '.claude/CLAUDE.md', project: 'CLAUDE.md' },
  'claude-desktop': { user: null, project: null },
  cursor: { user: null, project: `.cursor/rules/${NAME}.mdc` },
  vscode: {
    user: `${CODE}/prompts/${NAME}.instructions.md`,
    project: `.github/instructions/${NAME}.instructions.md`,
  },
  windsurf: { user: '.codeium/windsurf/memories/global_rules.md', project: `.windsurf/rules/${NAME}.md` },
  zed: { user: null, project: 'AGENTS.md' },
  codex: { user: '.codex/AGENTS.md', project: 'AGENTS.md' },
  'gemini-cli': { user: '.gemini/GEMINI.md', project: 'GEMINI.md' },
  opencode: { user: '.config/opencode/AGENTS.md', project: 'AGENTS.md' },
  cline: { user: `.cline/rules/${NAME}.md`, project: `.clinerules/${NAME}.md` },
  continue: { user: `.continue/rules/${NAME}.md`, project: `.continue/rules/${NAME}.md` },
  'grok-cli': { user: null, project: 'AGENTS.md' },
  openclaw: { user: null, project: null },
};

/** The file of a client's instructions; null where the client has none for all projects, or none at all. */
export function instructionsPlace(
  client: string,
  project: string | null,
  lines: readonly string[],
): Place | null {
  const { user, project: inProject } = INSTRUCTIONS[client]!;
  const oldCline = client === 'cline' && project === null && usesOldCline();
  const name = oldCline ? `Documents/Cline/Rules/${NAME}.md` : project === null ? user : inProject;
  if (name === null) return null;
  const own = name.includes(NAME);
  const front = own ? (FRONT[client] ?? '') : '';
  return {
    path: project === null ? at(name) : join(project, name),
    empty: front,
    put: (text) => editBlock(text, lines, MARKDOWN_MARKS),
    remove: (text) => editBlock(text, null, MARKDOWN_MARKS),
    agentId: () => null,
    shown: asTheyAre,
    foreign: (text) =>
      own && text.trim() !== front.trim() && !hasBlock(text, MARKDOWN_MARKS)
        ? 'a text without the managed block'
        : null,
    isSpent: (text) => text.trim() === front.trim(),
  };
}

/** The hooks of Claude Code that run a command of this program. */
export const HOOKS: Readonly<Record<string, { readonly event: string; readonly words: readonly string[] }>> =
  {
    'session-start': { event: 'SessionStart', words: ['boot', '--quiet', '--no-header'] },
    'session-end': {
      event: 'SessionEnd',
      words: ['recover-previous-session', '--host', 'claude-code', '--quiet'],
    },
  };

interface HookGroup {
  readonly hooks?: readonly { readonly type?: unknown; readonly command?: unknown }[];
}

/** A shell ignores the mark, which says whose the command is. */
const MARK = `# ${NAME}:managed`;

/** The place of a hook in the settings of Claude Code. */
export function hookPlace(
  file: string | null,
  kind: string,
  shellLine: (words: readonly string[]) => string,
): Place {
  const { event, words } = HOOKS[kind]!;
  const path = ['hooks', event];
  const others = (text: string): readonly HookGroup[] => {
    const groups = memberOf(text, path) ?? [];
    if (!Array.isArray(groups)) throw new NotEditableError(`has a "hooks.${event}" that is no list`);
    return (groups as HookGroup[]).filter(
      ({ hooks }) => !(hooks ?? []).some(({ command }) => String(command).endsWith(MARK)),
    );
  };
  const withGroups = (text: string, groups: readonly HookGroup[]) =>
    editJson(text, path, groups.length === 0 ? undefined : groups);
  const group = ({ command, args }: Start): HookGroup => {
    const program = [command, ...args.slice(0, args.indexOf('mcp'))];
    return { hooks: [{ type: 'command', command: `${shellLine([...program, ...words])} ${MARK}` }] };
  };
  return {
    path: file ?? at('.claude/settings.json'),
    empty: '{}\n',
    put: (text, start) => withGroups(text, [...others(text), group(start)]),
    shown: (line, start) => maskedLine(line, JSON.stringify(group(start)), null),
    remove: (text) => (memberOf(text, path) === undefined ? text : withGroups(text, others(text))),
    agentId: () => null,
    foreign: () => null,
    isSpent: () => false,
  };
}
