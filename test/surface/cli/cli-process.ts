import { spawn } from 'node:child_process';
import { cleanEnvironment, MAIN } from '../../support/daemon-process.js';
import { within } from '../../support/wait.js';

export interface Finished {
  readonly code: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** Longer than any command takes, also beside seven others. */
const ENDS_WITHIN_MS = 120_000;

/** Runs one command to its end. */
export function run(
  home: string,
  args: readonly string[],
  options: { readonly stdin?: string | Uint8Array; readonly env?: Record<string, string> } = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: cleanEnvironment(home, options.env) });
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
