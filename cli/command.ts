import type { ErrorCode } from '../protocol/base/errors.js';
import type { Result } from '../protocol/base/result.js';
import type { Flag } from './arguments.js';
import type { Terminal } from './terminal.js';

/** What completions offer as a value: names of files or folders. */
export type PathKind = 'file' | 'folder';

/** A flag as help and completions show it. */
export interface DocumentedFlag extends Flag {
  /** Placeholder of the value in help; absent for a switch. */
  readonly value?: string | undefined;
  readonly doc: string;
  /** True when the command cannot run without it. */
  readonly required?: boolean | undefined;
  /** The values that it takes, if it takes only a few. */
  readonly choices?: readonly string[] | undefined;
  /** Words that completions offer where it takes others too. */
  readonly suggestions?: readonly string[] | undefined;
  readonly path?: PathKind | undefined;
}

/** The words that completions offer as a value. */
export const wordsOf = ({ choices, suggestions }: Pick<DocumentedFlag, 'choices' | 'suggestions'>) =>
  choices ?? suggestions;

/** An argument that is given by its position. */
export interface Positional {
  /** In kebab case. */
  readonly name: string;
  readonly doc: string;
  /** False when the command also runs without it; true by default. */
  readonly required?: boolean | undefined;
  readonly choices?: readonly string[] | undefined;
  readonly path?: PathKind | undefined;
}

/** A subcommand, loaded when it is called. */
export interface Command {
  /** For example `store`, or `archive list`. */
  readonly name: string;
  readonly summary: string;
  /** The line that shows how it is called, without the program's name. */
  readonly usage: string;
  /** Its own flags; those of every command are added. */
  readonly flags: readonly DocumentedFlag[];
  readonly positionals: readonly Positional[];
  /** The exit codes of its failures, where they are not those of their codes. */
  readonly failures?: Readonly<Partial<Record<ErrorCode, number>>>;
  help(columns: number): string;
  /** Runs with the words after the name; the exit code, or the failure to report. */
  run(words: readonly string[], terminal: Terminal): Promise<Result<number>>;
}

export const PROGRAM = 'mnemesh';

/** How each command is loaded, by its name; `group member` makes a member of a group. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;
