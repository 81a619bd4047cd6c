import { systemClock, systemScheduler } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import type { DocumentedFlag } from './command.js';
import { FullScreen, isQuit } from './full-screen.js';
import { flagValue } from './global-flags.js';
import { Pause } from './pause.js';
import { onSignals } from './signals.js';
import type { Terminal } from './terminal.js';
import { printable } from './views/text.js';

const INTERVAL_SECS_DEFAULT = 1;
const INTERVAL_SECS_MAX = 3600;

/** How often a view that is followed is read again. */
export const INTERVAL_FLAG: DocumentedFlag = {
  name: 'interval',
  kind: 'value',
  value: 'seconds',
  doc: `Seconds between two looks, ${INTERVAL_SECS_DEFAULT} unless given`,
};

/** The interval in milliseconds. VALIDATION_FAILED for another text than a number of seconds. */
export function intervalOf(parsed: ParsedArguments): Result<number> {
  const seconds = Number(flagValue(parsed, 'interval') ?? INTERVAL_SECS_DEFAULT);
  if (seconds > 0 && seconds <= INTERVAL_SECS_MAX) return ok(seconds * 1000);
  const message = `--interval must be a number of seconds above 0 and at most ${INTERVAL_SECS_MAX}`;
  return fail('VALIDATION_FAILED', message, { fields: ['interval'] });
}

/** True where a view can take the whole screen and its keys. */
export const hasScreen = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** Shows a view on the whole screen, read again at every interval, until q or a signal ends it. */
export async function followOnScreen(
  view: () => Promise<Result<string>>,
  terminal: Terminal,
  everyMs: number,
): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, everyMs);
  onSignals(systemClock, () => pause.end());
  const screen = new FullScreen(terminal, process.stdin, (key) => {
    if (isQuit(key)) pause.end();
  });
  await screen.begin();
  try {
    for (; !pause.ended && !terminal.closed; await pause.take()) {
      const text = await view();
      if (!text.ok) return failed(text.error);
      await screen.draw(fitting(text.value.trimEnd().split('\n'), process.stdout.rows));
    }
    return ok(0);
  } finally {
    await screen.end();
  }
}

/** Prints a view at every interval, until a signal ends it or nobody reads on. */
export async function followInLines(
  view: () => Promise<Result<string>>,
  terminal: Terminal,
  everyMs: number,
): Promise<Result<number>> {
  const pause = new Pause(systemScheduler, everyMs);
  onSignals(systemClock, () => pause.end());
  for (; !pause.ended && !terminal.closed; await pause.take()) {
    const text = await view();
    if (!text.ok) return failed(text.error);
    await terminal.print(text.value);
  }
  return ok(0);
}

/** The lines that a screen has room for, with a last one that says what q does, and how many are left out. */
function fitting(lines: readonly string[], rows: number): string {
  const room = Math.max(1, rows - 1);
  const isCut = lines.length > room;
  const left = isCut ? `${lines.length - room} lines more   ` : '';
  return [...lines.slice(0, room), `${left}q quit`].map(printable).join('\n');
}
