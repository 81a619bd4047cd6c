import type { Database, Statement } from 'better-sqlite3';
import { isBusy } from './sqlite-errors.js';

/** Pages of the full text that one step merges. */
const STEP_PAGES = 300;

/**
 * Overwrites what removed rows leave in the file. Freed pages are overwritten as they are freed (`secure_delete`). The
 * full text keeps the terms of a removed row until its segment is merged, and the write-ahead log keeps old pages until
 * it is cut: both are done here, in steps.
 */
export class FreedSpace {
  #merging = false;
  #merge: Statement<[number]> | null = null;

  constructor(private readonly db: Database) {}

  /** One step; false while there is more to do, or while others hold the file. */
  wipe(): boolean {
    if (this.db.memory) return this.merge();
    try {
      return this.merge() && this.cutLog();
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }

  /** True when the full text is one segment, without the terms of removed rows; a short one takes two steps. */
  private merge(): boolean {
    return this.mergeStep() || this.mergeStep();
  }

  private mergeStep(): boolean {
    this.#merge ??= this.db.prepare<[number]>(
      "INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', ?)",
    );
    const changes = () => this.db.prepare('SELECT total_changes()').pluck().get() as number;
    const before = changes();
    // A negative number begins the merge of all segments; positive ones continue it, and change nothing at its end.
    this.#merge.run(this.#merging ? STEP_PAGES : -STEP_PAGES);
    const done = changes() - before < 2;
    this.#merging = !done;
    return done;
  }

  private cutLog(): boolean {
    const patienceMs = this.db.pragma('busy_timeout', { simple: true }) as number;
    this.db.pragma('busy_timeout = 0');
    try {
      const [{ busy }] = this.db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      return busy === 0;
    } finally {
      this.db.pragma(`busy_timeout = ${patienceMs}`);
    }
  }
}
