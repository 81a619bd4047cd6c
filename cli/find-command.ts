import { type CommandDef, defineCommand, runCommand } from 'citty';
import { fail, type Result } from '../protocol/result.js';
import { type Command, PROGRAM } from './command.js';
import { asksFor, GLOBAL_FLAGS } from './global-flags.js';
import { nearest } from './nearest.js';

/** What the words of a command line ask for. */
export type Route =
  | { readonly kind: 'command'; readonly command: Command; readonly words: readonly string[] }
  | { readonly kind: 'help'; readonly text: (columns: number) => string }
  | { readonly kind: 'failure'; readonly result: Result<never> };

/** The servers are loaded by name, so that a client waits for nothing that it does not need. */
const SERVERS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve-command.js')).serveCommand,
  mcp: async () => (await import('./mcp-command.js')).mcpCommand,
};

/**
 * Finds the command that the words name, in a tree of lazy subcommands. Flags of every command may stand before its
 * name as well. `help` before a name and `--help` anywhere show its help. What follows the name is read by
 * `parseArguments`, which is stricter than the library: it refuses unknown and repeated flags.
 */
export async function findCommand(words: readonly string[]): Promise<Route> {
  const asksHelp = asksFor(words, '--help', '-h');
  const { flags, rest } = leadingFlags(words);
  if (rest[0] === 'help' && !asksHelp) return findCommand([...flags, ...rest.slice(1), '--help']);
  if (rest.length === 0 || rest[0]!.startsWith('-')) return withoutName(rest, asksHelp);

  let found: Route | null = null;
  const root = defineCommand({
    meta: { name: PROGRAM },
    subCommands: await subCommandsFor(rest[0]!, (command, after) => {
      found = routeTo(command, [...flags, ...after], asksHelp);
    }),
  });
  try {
    await runCommand(root, { rawArgs: [...rest] });
  } catch (error) {
    // The library's errors carry such codes; any other is a bug.
    if (!String((error as { code?: unknown }).code).startsWith('E_')) throw error;
  }
  return found ?? { kind: 'failure', result: unknownCommand(rest, await operations()) };
}

const operations = async () => (await import('./operation-command.js')).operationCommands();

type Found = (command: Command, words: readonly string[]) => void;

/** The tree below the program: one server, or the operations with their groups. */
async function subCommandsFor(first: string, found: Found): Promise<Record<string, CommandDef>> {
  const server = Object.hasOwn(SERVERS, first) ? SERVERS[first] : undefined;
  if (server !== undefined) return { [first]: leaf(await server(), found) };
  const tree: Record<string, CommandDef> = {};
  const groups: Record<string, Record<string, CommandDef>> = {};
  for (const command of await operations()) {
    const [name, member] = command.name.split(' ') as [string, string | undefined];
    if (member === undefined) {
      tree[name] = leaf(command, found);
    } else {
      groups[name] ??= {};
      groups[name][member] = leaf(command, found);
      tree[name] = defineCommand({ meta: { name }, subCommands: groups[name] });
    }
  }
  return tree;
}

function leaf(command: Command, found: Found): CommandDef {
  return defineCommand({
    meta: { name: command.name, description: command.summary },
    run: ({ rawArgs }) => found(command, rawArgs),
  });
}

async function withoutName(rest: readonly string[], asksHelp: boolean): Promise<Route> {
  const commands = await operations();
  if (!asksHelp) return { kind: 'failure', result: unknownCommand(rest, commands) };
  const { rootHelp } = await import('./root-help.js');
  const servers = await Promise.all(Object.values(SERVERS).map((load) => load()));
  return { kind: 'help', text: (columns) => rootHelp(commands, servers, columns) };
}

function routeTo(command: Command, words: readonly string[], asksHelp: boolean): Route {
  return asksHelp
    ? { kind: 'help', text: (columns) => command.help(columns) }
    : { kind: 'command', command, words };
}

/** Splits off the flags before the command's name. An unknown one stays there and is refused as a command. */
function leadingFlags(words: readonly string[]): { flags: string[]; rest: readonly string[] } {
  const flags: string[] = [];
  let index = 0;
  while (index < words.length) {
    const word = words[index] as string;
    const flag = GLOBAL_FLAGS.find(({ name, short }) => {
      return word === `--${name}` || word.startsWith(`--${name}=`) || word === `-${short}`;
    });
    if (flag === undefined) break;
    const takesNext = flag.kind === 'value' && !word.includes('=');
    flags.push(...words.slice(index, index + (takesNext ? 2 : 1)));
    index += takesNext ? 2 : 1;
  }
  return { flags, rest: words.slice(index) };
}

function unknownCommand(rest: readonly string[], commands: readonly Command[]): Result<never> {
  const word = rest[0];
  if (word === undefined) return fail('INVALID_ARGUMENT', 'no command is given');
  if (word.startsWith('-')) return fail('UNKNOWN_FIELD', `unknown flag ${word}`, { fields: [word] });
  const names = [...commands.map(({ name }) => name), ...Object.keys(SERVERS)];
  const leaves = names.filter((name) => name.startsWith(`${word} `));
  if (leaves.length > 0) {
    return fail(
      'INVALID_ARGUMENT',
      `${word} needs one of: ${leaves.map((leaf) => leaf.slice(word.length + 1)).join(', ')}`,
    );
  }
  const near = nearest(word, names);
  const hint = near === null ? '' : `; did you mean "${PROGRAM} ${near}"?`;
  return fail('INVALID_ARGUMENT', `unknown command "${word}"${hint}`);
}
