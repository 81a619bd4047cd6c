import type { Result } from '../protocol/result.js';
import type { Terminal } from './terminal.js';

/** A subcommand, loaded when it is called. */
export interface Command {
  /** For example `store`, or `archive list`. */
  readonly name: string;
  readonly summary: string;
  /** The line that shows how it is called, without the program's name. */
  readonly usage: string;
  help(columns: number): string;
  /** Runs with the words after the name; the exit code, or the failure to report. */
  run(words: readonly string[], terminal: Terminal): Promise<Result<number>>;
}

export const PROGRAM = 'mnemesh';
