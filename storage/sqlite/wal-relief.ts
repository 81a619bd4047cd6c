import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import { isFull } from './sqlite-errors.js';

/** The time between two failed tries on a disk that stays full; each may write as much as the write-ahead log holds. */
const TRY_EVERY_MS = 1000;
/** The same when free space has grown. */
const TRY_SOON_MS = 50;
const ATTEMPTS = 20;
const STEP_MS = 5;

type Folding = 'folded' | 'readers' | 'no-room';

/**
 * Frees space on a full disk. On a small disk the write-ahead log may take all of it long before SQLite folds it into
 * the file by itself, and then the folding has no space either. So once the disk was full, the log is folded and cut as
 * soon as that succeeds. Until then no write runs: a failed write makes the log longer, and may take the space that the
 * folding needs, which only the folding frees.
 */
export class WalRelief {
  /** The result of the last try; null until the disk was full. */
  private last: Folding | null = null;
  private triedMs = Number.NEGATIVE_INFINITY;
  /** Free on the disk after the last try, in bytes. */
  private freeThen = 0;

  constructor(private readonly db: Database) {}

  /** Call when the disk was full; true when there may be space now. */
  full(nowMs: number): boolean {
    this.last ??= 'readers';
    return this.mayTry(nowMs) && this.fold(nowMs) === 'folded';
  }

  /** Call before a write: true when there may be space for it. */
  hasRoom(nowMs: number): boolean {
    if (this.last !== null && this.mayTry(nowMs)) this.fold(nowMs);
    return this.last !== 'no-room';
  }

  private mayTry(nowMs: number): boolean {
    const passedMs = Math.abs(nowMs - this.triedMs);
    return passedMs >= TRY_EVERY_MS || (passedMs >= TRY_SOON_MS && this.freeBytes() > this.freeThen);
  }

  private freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.db.name));
      return bavail * bsize;
    } catch {
      return 0;
    }
  }

  private fold(nowMs: number): Folding {
    const folding = this.tryToFold();
    const done = folding === 'folded';
    this.last = done ? null : folding;
    this.triedMs = done ? Number.NEGATIVE_INFINITY : nowMs;
    this.freeThen = done ? 0 : this.freeBytes();
    return folding;
  }

  /** Readers in other threads hold the log for a moment, so it tries for some time. */
  private tryToFold(): Folding {
    const patienceMs = this.db.pragma('busy_timeout', { simple: true }) as number;
    try {
      // No busy timeout: each checkpoint would otherwise wait as long as a write.
      this.db.pragma('busy_timeout = 0');
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (attempt > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
        const [{ busy }] = this.db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
        if (busy === 0) return 'folded';
      }
      return 'readers';
    } catch (error) {
      // The next write reports any other error.
      return isFull(error) ? 'no-room' : 'readers';
    } finally {
      this.db.pragma(`busy_timeout = ${patienceMs}`);
    }
  }
}
