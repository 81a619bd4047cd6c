import { constants } from 'node:os';
import type { Clock } from '../protocol/base/seams.js';

/** Under npm, Ctrl-C reaches this process twice: from the terminal, and passed on by npm. */
const SAME_KEYSTROKE_MS = 500;

const ENDS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Calls `stop` at the first signal that asks for an end; a second one ends the process at once with 128 + signal. A hang-up
 * calls `reload` where there is something to read again, and asks for an end otherwise.
 */
export function onSignals(clock: Clock, stop: () => void, reload?: () => void): void {
  let firstMs: number | null = null;
  if (reload !== undefined) process.on('SIGHUP', reload);
  for (const signal of reload === undefined ? ([...ENDS, 'SIGHUP'] as const) : ENDS) {
    process.on(signal, () => {
      const nowMs = clock.monotonicMs();
      if (firstMs === null) {
        firstMs = nowMs;
        stop();
      } else if (nowMs - firstMs > SAME_KEYSTROKE_MS) {
        process.exit(128 + constants.signals[signal]);
      }
    });
  }
}
