import { spawn } from 'node:child_process';
import { cleanEnvironment, MAIN, withFile } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';
import { type Finished, runInTurn } from './commands-in-turn.js';

export type { Finished } from './commands-in-turn.js';

/** Longer than any command takes, also beside seven others. */
const ENDS_WITHIN_MS = 120_000;

interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: Record<string, string>;
}

/**
 * Runs one command to its end. Commands that run at once are in different processes; others may share one, unless Node
 * reads something for them when it starts.
 */
export function run(home: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  if (Object.keys(options.env ?? {}).some((name) => name.startsWith('NODE_')))
    return runAlone(home, args, options);
  const env = Object.fromEntries(
    Object.entries(cleanEnvironment(home, withFile(args, options.env))).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
  const { finished, seen } = runInTurn({ args, env, stdin: options.stdin ?? '' });
  return within(`${args.join(' ')} ends`, finished, { withinMs: ENDS_WITHIN_MS, seen });
}

/** Runs one command to its end, in a process of its own. */
export function runAlone(home: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: cleanEnvironment(home, withFile(args, options.env)),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
  const closed = new Promise<Finished>((resolve) => {
    child.once('close', (code, signal) => resolve({ code: signal ?? code, out, err }));
  });
  return within(`${args.join(' ')} ends`, closed, { withinMs: ENDS_WITHIN_MS, seen: () => out + err });
}

/** A function that runs commands in one home. */
export const commandsIn =
  (home: string) =>
  (...args: string[]) =>
    run(home, args);
