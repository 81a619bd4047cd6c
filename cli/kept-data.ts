import { existsSync } from 'node:fs';
import { ttlSecondsOf } from '../node/config/life-policy.js';
import type { Settings } from '../node/config/settings.js';
import { isAbsent } from '../node/config/store-url.js';
import type { Terminal } from './terminal.js';

/** How long memories are kept under these settings, in one line. */
export function keptFor(settings: Settings): string {
  const { short, mid, long } = ttlSecondsOf(settings);
  const usual = mid === null ? spanOf(mid) : `${spanOf(mid)} after their last use`;
  return `${usual}; with --tier short ${spanOf(short)}, with --tier long ${spanOf(long)}`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time to live in the largest unit that states it exactly. */
function spanOf(seconds: number | null): string {
  if (seconds === null) return 'for good';
  const [unit, size] = UNITS.find(([, of]) => seconds % of === 0)!;
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/**
 * Tells a person at a terminal where the data is, when a command has made the database; `told` is called when the command
 * has run.
 */
export function firstRun(settings: Settings, terminal: Terminal): { told(): Promise<void> } {
  const isNew = terminal.talks && isAbsent(settings);
  return {
    async told() {
      if (!isNew || !existsSync(settings.dbPath)) return;
      await terminal.complain(
        `the memory is new: ${settings.dbPath}\n  memories are kept ${keptFor(settings)}\n`,
      );
    },
  };
}
