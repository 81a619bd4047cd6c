import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

const BEHIND_ALL = 19;

/** Lets this thread run behind all others of the machine, where threads have priorities of their own (Linux). */
export function stepBack(): void {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isSafeInteger(id) && id > 0) setPriority(id, BEHIND_ALL);
  } catch {
    // It runs like any other thread.
  }
}
