import type { Connection } from './connection.js';

/** Between a try in vain and the next on a disk that stays full; each may write as much as the write-ahead log holds. */
const TRY_EVERY_MS = 1000;
const ATTEMPTS = 20;
const STEP_MS = 5;

/**
 * Gives a full disk room again. On a small disk the write-ahead log may take all of it long before SQLite folds it into the
 * file by itself, and then there would be no room for the folding either. So once the disk was full, the log is folded
 * and cut as soon as that succeeds, before the next write needs the space.
 */
export class WalRelief {
  private short = false;
  private triedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly db: Connection) {}

  /** The disk was full; true when there may be room now. */
  full(nowMs: number): boolean {
    this.short = true;
    return this.relieve(nowMs);
  }

  /** Before a write; does nothing unless the disk was full and the log still stands. */
  relieve(nowMs: number): boolean {
    if (!this.short || Math.abs(nowMs - this.triedMs) < TRY_EVERY_MS) return false;
    this.triedMs = nowMs;
    if (!this.folded()) return false;
    this.short = false;
    this.triedMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Readers of other threads keep the log for a moment, so it is tried for some time. */
  private folded(): boolean {
    const patienceMs = this.db.pragma('busy_timeout', { simple: true }) as number;
    try {
      // Its own patience is enough: a checkpoint would wait as long as a write at each attempt.
      this.db.pragma('busy_timeout = 0');
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (attempt > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
        const [{ busy }] = this.db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
        if (busy === 0) return true;
      }
      return false;
    } catch {
      // The disk is as full as before.
      return false;
    } finally {
      this.db.pragma(`busy_timeout = ${patienceMs}`);
    }
  }
}
