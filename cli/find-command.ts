import { type CommandDef, defineCommand, runCommand } from 'citty';
import { nearest } from '../protocol/base/nearest.js';
import { fail, type Result } from '../protocol/base/result.js';
import { type Command, type CommandTable, PROGRAM } from './command.js';
import { asksFor, GLOBAL_FLAGS } from './global-flags.js';
import { type OperationEntry, operationTable } from './operation-table.js';

/** What the words of a command line ask for. */
export type Route =
  | { readonly kind: 'command'; readonly command: Command; readonly words: readonly string[] }
  | { readonly kind: 'help'; readonly text: (columns: number) => string }
  /** `group` when the words name a group: its help is more specific than that of the program. */
  | { readonly kind: 'failure'; readonly result: Result<never>; readonly group?: string };

/**
 * Finds the command that the words name: `name`, or `group member`. Flags of every command may also come before the
 * name and between its words. `help` before a name and `--help` anywhere show its help, without a name that of the program,
 * and without any word the start page. `natives` is the table of the commands that are no operations. `parseArguments` reads what follows the name.
 */
export async function findCommand(words: readonly string[], natives: CommandTable): Promise<Route> {
  const asksHelp = asksFor(words, '--help', '-h');
  const { flags, rest } = leadingFlags(words);
  const first = rest[0];
  if (first === 'help') {
    return findCommand([...flags, ...rest.slice(1), ...(asksHelp ? [] : ['--help'])], natives);
  }
  if (asksHelp && (first === undefined || first.startsWith('-'))) {
    return asksFor(words, '--all') ? helpOfAll(natives) : helpOfMost();
  }
  if (first === undefined) return routeTo((await import('./start-page.js')).startCommand, flags, false);
  if (first.startsWith('-')) {
    return { kind: 'failure', result: fail('UNKNOWN_FIELD', `unknown flag ${first}`, { fields: [first] }) };
  }
  const operations = await operationTable();
  const loaders = new Map<string, () => Promise<Command>>(Object.entries(natives));
  for (const { command, load } of operations) {
    loaders.set(command, async () => (await import('./operation-command.js')).operationCommand(await load()));
  }
  // The library takes the next word that is not a flag as the member of a group and loses the flags before it.
  const between = leadingFlags(rest.slice(1));
  const isGroup = !loaders.has(first);
  const member = between.rest[0];
  const namesMember = !isGroup || (member !== undefined && !member.startsWith('-'));
  const found = namesMember ? await resolve(loaders, isGroup ? [first, ...between.rest] : rest) : null;
  if (found === null) return withoutCommand(first, member, asksHelp, { operations, natives });
  const after = [...flags, ...(isGroup ? between.flags : []), ...found.words];
  return routeTo(await found.load(), after, asksHelp);
}

interface Found {
  readonly load: () => Promise<Command>;
  /** The words after the command's name. */
  readonly words: readonly string[];
}

/** Finds a command in the tree of names; null when the words name none. */
async function resolve(
  loaders: ReadonlyMap<string, () => Promise<Command>>,
  words: readonly string[],
): Promise<Found | null> {
  let found: Found | null = null;
  const leaf = (load: () => Promise<Command>) =>
    defineCommand({
      run: ({ rawArgs }) => {
        found = { load, words: rawArgs };
      },
    });
  const tree: Record<string, CommandDef> = {};
  const groups = new Map<string, Record<string, CommandDef>>();
  for (const [path, load] of loaders) {
    const [name, member] = path.split(' ') as [string, string | undefined];
    if (member === undefined) {
      tree[name] = leaf(load);
      continue;
    }
    const members = groups.get(name) ?? {};
    groups.set(name, members);
    members[member] = leaf(load);
    tree[name] = defineCommand({ meta: { name }, subCommands: members });
  }
  try {
    await runCommand(defineCommand({ meta: { name: PROGRAM }, subCommands: tree }), { rawArgs: [...words] });
  } catch (error) {
    // The library's errors have these codes; any other error is a bug.
    if (!String((error as { code?: unknown }).code).startsWith('E_')) throw error;
  }
  return found;
}

const failure = (message: string, group?: string): Route => ({
  kind: 'failure',
  result: fail('INVALID_ARGUMENT', message),
  ...(group === undefined ? {} : { group }),
});

function routeTo(command: Command, words: readonly string[], asksHelp: boolean): Route {
  return asksHelp
    ? { kind: 'help', text: (columns) => command.help(columns) }
    : { kind: 'command', command, words };
}

async function helpOfMost(): Promise<Route> {
  const { firstHelp } = await import('./root-help.js');
  return { kind: 'help', text: firstHelp };
}

async function helpOfAll(natives: CommandTable): Promise<Route> {
  const { allHelp } = await import('./root-help.js');
  const commands = [...(await operationTable()), ...(await nativeCommands(natives, () => true))];
  return { kind: 'help', text: (columns) => allHelp(commands, columns) };
}

const nativeCommands = (natives: CommandTable, isSelected: (name: string) => boolean): Promise<Command[]> =>
  Promise.all(
    Object.entries(natives)
      .filter(([name]) => isSelected(name))
      .map(([, load]) => load()),
  );

/** The words name a group, or nothing that exists. */
async function withoutCommand(
  first: string,
  second: string | undefined,
  asksHelp: boolean,
  { operations, natives }: { readonly operations: readonly OperationEntry[]; readonly natives: CommandTable },
): Promise<Route> {
  const names = [...operations.map(({ command }) => command), ...Object.keys(natives)];
  const isMember = (name: string) => name.startsWith(`${first} `);
  const members = names.filter(isMember).map((name) => name.slice(first.length + 1));
  if (members.length === 0) return failure(`unknown command "${first}"${suggestion(first, names)}`);
  if (asksHelp) {
    const { groupHelp, rowsOf } = await import('./root-help.js');
    const rows = [
      ...rowsOf(operations.filter(({ command }) => isMember(command))),
      ...rowsOf(await nativeCommands(natives, isMember)),
    ];
    return { kind: 'help', text: (columns) => groupHelp(first, rows, columns) };
  }
  const list = `${first} needs one of: ${members.join(', ')}`;
  if (second === undefined || second.startsWith('-')) return failure(list, first);
  const near = nearest(second, members);
  return failure(
    `unknown command "${first} ${second}"${near === null ? `; ${list}` : `; did you mean "${PROGRAM} ${first} ${near}"?`}`,
    first,
  );
}

/**
 * What a mistyped first word most likely means: a command, a group, or a member of a group without the group's name.
 */
function suggestion(word: string, names: readonly string[]): string {
  const tops = [...new Set(names.map((name) => name.split(' ')[0] as string))];
  const inGroups = names.filter((name) => name.includes(' '));
  const joined = inGroups.find((name) => name.replace(' ', '-') === word);
  const member = inGroups.find((name) => name.split(' ')[1] === word);
  const near = joined ?? nearest(word, tops) ?? member ?? nearest(word, inGroups);
  return near === null ? '' : `; did you mean "${PROGRAM} ${near}"?`;
}

/** Splits off the flags before a name. An unknown flag stays and is refused later. */
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
