import { constants } from 'node:os';
import type { Clock } from '../protocol/seams.js';

/** Under npm, Ctrl-C reaches this process twice: from the terminal, and passed on by npm. */
const SAME_KEYSTROKE_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `stop` at the first signal that asks for an end; a second one ends the process at once with 128 + signal. */
export function onSignals(clock: Clock, stop: () => void): void {
  let firstMs: number | null = null;
  for (const signal of SIGNALS) {
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
