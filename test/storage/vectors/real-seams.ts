import type { Clock, Log, Scheduler } from '../../../protocol/base/seams.js';

/** The machine's own clock. */
export const realClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** The machine's own timers, which keep no process alive unless asked. */
export const realScheduler: Scheduler = {
  after(delayMs, run, options) {
    const handle = setTimeout(run, delayMs);
    if (options?.keepAlive !== true) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  immediate: (run) => void setImmediate(run),
};

/** A log that keeps its lines. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const write = (fields: Record<string, unknown>, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { lines, debug: write, info: write, warn: write, error: write };
}
