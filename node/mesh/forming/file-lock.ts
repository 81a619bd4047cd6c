import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import type { Clock, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { isAlive } from '../../is-alive.js';

const RETRY_MS = 20;
const WAIT_MS = 5000;
/** After this the holder of a lock has surely ended: the work under a lock takes milliseconds. */
const STALE_MS = 10_000;

/** Runs a function while no other process runs one; throws StartRefusedError when the lock cannot be taken. */
export async function withFileLock<T>(
  path: string,
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  run: () => T,
): Promise<T> {
  const untilMs = clock.monotonicMs() + WAIT_MS;
  while (!taken(path)) {
    if (isAbandoned(path, clock.nowMs())) {
      rmSync(path, { force: true });
      continue;
    }
    if (clock.monotonicMs() > untilMs) {
      throw new StartRefusedError(
        'UNAVAILABLE',
        `another process holds the lock ${path}; try again when it has ended`,
      );
    }
    await new Promise<void>((resolve) => {
      scheduler.after(RETRY_MS, resolve, { keepAlive: true });
    });
  }
  try {
    return run();
  } finally {
    rmSync(path, { force: true });
  }
}

function taken(path: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600);
    writeSync(file, String(process.pid));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** True when the process that took the lock has ended, or has had it too long. */
function isAbandoned(path: string, nowMs: number): boolean {
  try {
    if (nowMs - statSync(path).mtimeMs > STALE_MS) return true;
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid);
  } catch {
    return false;
  }
}
