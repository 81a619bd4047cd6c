import type { Database, Statement } from 'better-sqlite3';
import { isBusy, isFull } from './sqlite-errors.js';

/** Pages of the full text that one step merges. */
const STEP_PAGES = 300;

/** The largest file that is written anew; writes wait meanwhile, for about 3 s. */
const REWRITTEN_BYTES_MAX = 512 * 1024 * 1024;

/**
 * Overwrites what removed rows leave in the file. Freed rows are overwritten as they are freed (`secure_delete`), but not
 * what SQLite left between the rows of a page when it moved some to another page: only a new file is free of it. The full text keeps
 * the terms of a removed row until its segment is merged, and the write-ahead log keeps old pages until it is cut.
 */
export class FreedSpace {
  #merging = false;
  #merge: Statement<[number]> | null = null;

  constructor(private readonly db: Database) {}

  /** One step; false while there is more to do, or while others hold the file. */
  wipe(): boolean {
    if (this.db.memory) return this.merge();
    try {
      if (!this.merge()) return false;
      this.rewrite();
      return this.cutLog();
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

  /** A file that became too long, or has no room for its copy, keeps the free space of its pages as it is. */
  private rewrite(): void {
    const bytes = (this.pragma('page_count') as number) * (this.pragma('page_size') as number);
    if (bytes > REWRITTEN_BYTES_MAX) return;
    // Its copy lies in a file meanwhile, not in the memory of this process.
    this.db.pragma('temp_store = FILE');
    try {
      this.db.exec('VACUUM');
    } catch (error) {
      if (!isFull(error)) throw error;
    } finally {
      this.db.pragma('temp_store = MEMORY');
    }
  }

  private pragma(name: string): unknown {
    return this.db.pragma(name, { simple: true });
  }

  private cutLog(): boolean {
    const patienceMs = this.pragma('busy_timeout') as number;
    this.db.pragma('busy_timeout = 0');
    try {
      const [{ busy }] = this.db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      return busy === 0;
    } finally {
      this.db.pragma(`busy_timeout = ${patienceMs}`);
    }
  }
}
