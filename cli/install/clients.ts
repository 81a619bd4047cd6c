import { platform } from 'node:os';
import { join } from 'node:path';
import { CLIENT_FILES } from '../../node/config/client-config.js';
import { parseToml } from '../../node/config/config-file.js';
import { userFolder } from '../../node/config/paths.js';
import { editBlock, hasBlock } from './edit-block.js';
import { editJson, memberOf, NotEditableError } from './edit-json.js';

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
  /** What stands where this program would be put and is not of this program; null where the place is free. */
  readonly foreign: (text: string) => string | null;
  /** Whether a text without this program needs no file. */
  readonly isSpent: (text: string) => boolean;
}

const NAME = 'mnemesh';

const entryOf = ({ command, args, env }: Start) => ({
  command,
  args,
  ...(Object.keys(env).length === 0 ? {} : { env }),
});

/** Words that a client's entry for this program has. */
export const startsProgram = (words: readonly unknown[]): boolean =>
  words.some(
    (word) => typeof word === 'string' && /(^|[\\/])mnemesh(\.cmd)?$|[\\/]cli[\\/]main\.js$/.test(word),
  );

const inJson = (file: string, path: readonly string[]): Place => ({
  path: file,
  empty: '{}\n',
  put: (text, start) => editJson(text, path, entryOf(start)),
  remove: (text) => editJson(text, path, undefined),
  foreign: (text) => {
    const entry = memberOf(text, path) as { readonly command?: unknown; readonly args?: unknown } | undefined;
    if (entry === undefined) return null;
    const args = Array.isArray(entry.args) ? (entry.args as unknown[]) : [];
    return startsProgram([entry.command, ...args])
      ? null
      : `an entry "${path.at(-1)}" that starts another program`;
  },
  isSpent: () => false,
});

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
    const edited = editBlock(text, lines);
    tomlOf(edited);
    return edited;
  },
  remove: (text) => editBlock(text, null),
  foreign: (text) => {
    const servers = tomlOf(editBlock(text, null))['mcp_servers'] as
      | Readonly<Record<string, unknown>>
      | undefined;
    return servers?.[NAME] === undefined
      ? null
      : `a table [mcp_servers.${NAME}] outside of the managed block`;
  },
  isSpent: () => false,
});

function tomlOf(text: string): Readonly<Record<string, unknown>> {
  const read = parseToml(text, '');
  if ('code' in read) throw new NotEditableError('is not TOML');
  return read.values;
}

/** A file with nothing but this program. */
const ofItsOwn = (file: string): Place => ({
  path: file,
  empty: '',
  put: (text, { command, args, env }) =>
    editBlock(text, [
      `name: ${NAME}`,
      'version: 0.0.1',
      'schema: v1',
      'mcpServers:',
      `  - name: ${NAME}`,
      `    command: ${JSON.stringify(command)}`,
      `    args: ${JSON.stringify(args)}`,
      ...(Object.keys(env).length === 0 ? [] : [`    env: ${JSON.stringify(env)}`]),
    ]),
  remove: (text) => editBlock(text, null),
  foreign: (text) => (text.trim() === '' || hasBlock(text) ? null : 'a text without the managed block'),
  isSpent: (text) => text.trim() === '',
});

const CODE = platform() === 'darwin' ? 'Library/Application Support/Code/User' : '.config/Code/User';

const at = (path: string): string => join(userFolder(), path);

/** The clients, and where each finds its MCP servers. */
export const PLACES: Readonly<Record<string, (file: string | null) => Place>> = {
  'claude-code': (file) => inJson(file ?? at(CLIENT_FILES['claude-code']!), ['mcpServers', NAME]),
  openclaw: (file) => inJson(file ?? at('.openclaw/openclaw.json'), ['mcp', 'servers', NAME]),
  cursor: (file) => inJson(file ?? at(CLIENT_FILES['cursor']!), ['mcpServers', NAME]),
  cline: (file) =>
    inJson(file ?? at(`${CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`), [
      'mcpServers',
      NAME,
    ]),
  continue: (file) => ofItsOwn(file ?? at(`.continue/mcpServers/${NAME}.yaml`)),
  windsurf: (file) => inJson(file ?? at(CLIENT_FILES['windsurf']!), ['mcpServers', NAME]),
  'claude-desktop': (file) => inJson(file ?? at(CLIENT_FILES['claude-desktop']!), ['mcpServers', NAME]),
  codex: (file) => inToml(file ?? at('.codex/config.toml')),
  'grok-cli': (file) => inToml(file ?? at('.grok/config.toml')),
  'gemini-cli': (file) => inJson(file ?? at(CLIENT_FILES['gemini-cli']!), ['mcpServers', NAME]),
};

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
  return {
    path: file ?? at('.claude/settings.json'),
    empty: '{}\n',
    put: (text, { command, args }) => {
      const program = [command, ...args.slice(0, args.indexOf('mcp'))];
      const line = `${shellLine([...program, ...words])} ${MARK}`;
      return withGroups(text, [...others(text), { hooks: [{ type: 'command', command: line }] }]);
    },
    remove: (text) => (memberOf(text, path) === undefined ? text : withGroups(text, others(text))),
    foreign: () => null,
    isSpent: () => false,
  };
}
