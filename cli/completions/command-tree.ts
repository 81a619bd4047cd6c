import type { Command, DocumentedFlag, Positional } from '../command.js';
import { GLOBAL_FLAGS } from '../global-flags.js';

/** The parts of a command that completions need. */
export interface CommandNode {
  readonly name: string;
  readonly summary: string;
  /** Its own flags and those of every command. */
  readonly flags: readonly DocumentedFlag[];
  readonly positionals: readonly Positional[];
}

/** A word that may follow another: a command or a group, with its summary. */
export interface NextWord {
  readonly word: string;
  readonly summary: string;
}

/** Every command, and what may follow each part of a name. */
export interface CommandTree {
  readonly commands: readonly CommandNode[];
  /** The words after the program (key the empty text), and after each group (key its name). */
  readonly next: ReadonlyMap<string, readonly NextWord[]>;
}

/** The word before the name of a command whose help is wanted. */
export const HELP = 'help';

/** The flag of that word. */
export const ALL_COMMANDS: DocumentedFlag = { name: 'all', kind: 'switch', doc: 'Show all commands' };

const SEVERAL = 'Several commands';

/** The tree of the given commands, as completion scripts need it. */
export function commandTree(commands: readonly Command[]): CommandTree {
  const nodes = commands.map(({ name, summary, flags, positionals }) => ({
    name,
    summary,
    flags: [...flags, ...GLOBAL_FLAGS.filter((flag) => !flags.some((own) => own.name === flag.name))],
    positionals,
  }));
  const next = new Map<string, NextWord[]>([['', []]]);
  const add = (before: string, word: string, summary: string) => {
    const known = next.get(before) ?? [];
    next.set(before, known);
    if (!known.some((each) => each.word === word)) known.push({ word, summary });
  };
  for (const { name, summary } of nodes) {
    const [first, second] = name.split(' ') as [string, string | undefined];
    add('', first, second === undefined ? summary : SEVERAL);
    if (second !== undefined) add(first, second, summary);
  }
  next.set(HELP, [...(next.get('') ?? [])]);
  add('', HELP, 'Show help');
  return { commands: nodes, next };
}

/** The names of a flag as they are typed. */
export const typedNames = (flag: DocumentedFlag): string[] => [
  `--${flag.name}`,
  ...(flag.short === undefined ? [] : [`-${flag.short}`]),
];

/** The flags before a name that take a value. */
export const GLOBAL_VALUE_FLAGS: readonly string[] = GLOBAL_FLAGS.filter(
  ({ kind }) => kind === 'value',
).flatMap(typedNames);

/** Text in single quotes, for bash and zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
