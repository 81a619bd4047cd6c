import { INLINE_ALONE_MS, INLINE_OTHERS_MS, INLINE_YIELD_MS } from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { Connection } from './connection.js';

/**
 * How long an inline writer leaves the lock free after a commit. SQLite's lock is not fair, so a process that writes
 * without a pause keeps the others out. A process that writes alone does not pause, but for a moment now and then, in
 * which one that waits can begin.
 */
export class LockTurns {
  private version: unknown;
  private othersMs = Number.NEGATIVE_INFINITY;
  private pausedMs: number;

  constructor(
    private readonly db: Connection,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.version = this.read();
    this.pausedMs = clock.monotonicMs();
  }

  /** The pause that follows the commit that this process has just made. */
  pauseMs(): number {
    const nowMs = this.clock.monotonicMs();
    const version = this.read();
    if (version !== this.version) this.othersMs = nowMs;
    this.version = version;
    if (nowMs - this.othersMs > INLINE_OTHERS_MS && nowMs - this.pausedMs < INLINE_ALONE_MS) return 0;
    this.pausedMs = nowMs;
    return INLINE_YIELD_MS;
  }

  private read(): unknown {
    return this.db.othersCommits();
  }
}
