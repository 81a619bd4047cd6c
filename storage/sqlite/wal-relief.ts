import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Connection, isFull } from './connection.js';

/** Between a try in vain and the next on a disk that stays full; each may write as much as the write-ahead log holds. */
const TRY_EVERY_MS = 1000;
/** The same when there is more space than there was. */
const TRY_SOON_MS = 50;
const ATTEMPTS = 20;
const STEP_MS = 5;

type Folding = 'folded' | 'readers' | 'no-room';

/**
 * Gives a full disk room again. On a small disk the write-ahead log may take all of it long before SQLite folds it into
 * the file by itself, and then there would be no room for the folding either. So once the disk was full, the log is
 * folded and cut as soon as that succeeds. Until then nothing is written: a write that fails has made the log longer,
 * and may take just the space that the folding needs, which only the folding gives back.
 */
export class WalRelief {
  /** What came of the last try; null while the disk was never full. */
  private last: Folding | null = null;
  private triedMs = Number.NEGATIVE_INFINITY;
  /** Free on the disk after the last try, in bytes. */
  private freeThen = 0;

  constructor(private readonly db: Connection) {}

  /** The disk was full; true when there may be room now. */
  full(nowMs: number): boolean {
    this.last ??= 'readers';
    return this.mayTry(nowMs) && this.fold(nowMs) === 'folded';
  }

  /** Before a write: whether there may be room for it. */
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

  /** Readers of other threads keep the log for a moment, so it is tried for some time. */
  private tryToFold(): Folding {
    const patienceMs = this.db.pragma('busy_timeout', { simple: true }) as number;
    try {
      // Its own patience is enough: a checkpoint would wait as long as a write at each attempt.
      this.db.pragma('busy_timeout = 0');
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (attempt > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
        const [{ busy }] = this.db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
        if (busy === 0) return 'folded';
      }
      return 'readers';
    } catch (error) {
      // Whatever else it is, the next write meets it too.
      return isFull(error) ? 'no-room' : 'readers';
    } finally {
      this.db.pragma(`busy_timeout = ${patienceMs}`);
    }
  }
}
