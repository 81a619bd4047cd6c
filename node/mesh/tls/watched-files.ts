import { statSync } from 'node:fs';
import type { Scheduler, Timer } from '../../../protocol/base/seams.js';

/**
 * Checks files from time to time and reports when one of them changed: by inode, size and time of change, so that a
 * replacement by rename shows as well. Polling works on every file system, notifications do not.
 */
export class WatchedFiles {
  readonly #paths: () => readonly string[];
  readonly #scheduler: Scheduler;
  readonly #intervalMs: number;
  readonly #changed: () => void;
  #stamp: string;
  #timer: Timer | null = null;

  constructor(options: {
    readonly paths: () => readonly string[];
    readonly scheduler: Scheduler;
    readonly intervalMs: number;
    readonly changed: () => void;
  }) {
    this.#paths = options.paths;
    this.#scheduler = options.scheduler;
    this.#intervalMs = options.intervalMs;
    this.#changed = options.changed;
    this.#stamp = this.#look();
    this.#later();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #later(): void {
    this.#timer = this.#scheduler.after(this.#intervalMs, () => {
      const stamp = this.#look();
      if (stamp !== this.#stamp) {
        this.#stamp = stamp;
        this.#changed();
      }
      if (this.#timer !== null) this.#later();
    });
  }

  #look(): string {
    return this.#paths()
      .map((path) => {
        try {
          const { ino, size, mtimeMs, ctimeMs } = statSync(path);
          return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
        } catch {
          return '-';
        }
      })
      .join('\n');
  }
}
