import { type Connection, isCorruption, isDiskError, sqliteCode } from './connection.js';

/** Between two looks at all indexes when the first one was in vain; each keeps the writer for a while. */
const LOOK_EVERY_MS = 60_000;

/** The indexes that SQLite keeps of tables, which a flipped byte sets apart from their rows. */
export class TableIndexes {
  private inVainMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly db: Connection,
    /** Told which indexes were found damaged, and which could not be built. */
    private readonly report: (error: Error) => void,
  ) {}

  /**
   * Builds them anew, within the transaction, where they do not agree with their table; false when all do, or it was just
   * tried in vain.
   */
  mend(nowMs: number): boolean {
    if (Math.abs(nowMs - this.inVainMs) < LOOK_EVERY_MS) return false;
    const damaged = indexedTables(this.db).filter((table) => !indexesAgree(this.db, table));
    if (damaged.length === 0) {
      this.wasInVain(nowMs);
      return false;
    }
    this.report(
      new Error(`indexes of ${damaged.join(', ')} did not agree with the rows; they are built anew`),
    );
    for (const table of damaged) this.rebuild(table);
    return true;
  }

  /** What they were mended for meets damage all the same. */
  wasInVain(nowMs: number): void {
    this.inVainMs = nowMs;
  }

  /** Builds those of a table anew; one that cannot be built stays as it was. */
  rebuild(table: string): void {
    const names = this.db.prepare('SELECT name FROM pragma_index_list(?)').pluck().all(table) as string[];
    for (const name of names) {
      let failure = inSavepoint(this.db, () => this.db.exec(`REINDEX ${quoted(name)}`));
      if (isConstraint(failure) && name === TITLES) failure = inSavepoint(this.db, () => partTitles(this.db));
      if (failure !== null)
        this.report(new Error(`an index of ${table} could not be built anew: ${failure}`));
    }
  }
}

/** Tables of which SQLite keeps indexes, by name. */
export function indexedTables(db: Connection): readonly string[] {
  const sql = `SELECT name FROM pragma_table_list AS listed
    WHERE schema = 'main' AND type = 'table' AND EXISTS (SELECT 1 FROM pragma_index_list(listed.name)) ORDER BY name`;
  return db.prepare(sql).pluck().all() as string[];
}

/** Looks at every row of a table. */
export function indexesAgree(db: Connection, table: string): boolean {
  try {
    const said = db.pragma(`integrity_check(${quoted(table)})`) as { integrity_check: string }[];
    return !said.some(({ integrity_check }) => /^Tree |\bindex\b|PRIMARY KEY order/.test(integrity_check));
  } catch (error) {
    // An entry or a value that makes no sense ends the check.
    if (isDiskError(error) && !isCorruption(error)) throw error;
    return false;
  }
}

const TITLES = 'memories_title';

/**
 * A title that the disk changed may now be that of another row, which the index still leads to. The changed one gets a
 * title of its own, no more wrong than before, until the row is made anew like any that is damaged.
 */
function partTitles(db: Connection): void {
  const sql = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(TITLES) as string;
  const others = `SELECT 1 FROM memories other INDEXED BY ${TITLES}
    WHERE other.conflict_of IS NULL AND other.title = m.title AND other.namespace = m.namespace AND other.rid <> m.rid`;
  const changed = db
    .prepare(`SELECT rid FROM memories m NOT INDEXED WHERE conflict_of IS NULL AND EXISTS (${others})`)
    .pluck()
    .all();
  db.exec(`DROP INDEX ${TITLES}`);
  const part = db.prepare("UPDATE memories SET title = title || ' #' || rid WHERE rid = ?");
  for (const rid of changed) part.run(rid);
  db.exec(sql);
}

/** Undoes what meets damage, a clash or a value that makes no sense, and answers that; errors of the disk are thrown. */
function inSavepoint(db: Connection, run: () => void): unknown {
  db.exec('SAVEPOINT rebuild');
  let failure: unknown = null;
  try {
    run();
  } catch (error) {
    if (!db.inTransaction || (isDiskError(error) && !isCorruption(error))) throw error;
    db.exec('ROLLBACK TO rebuild');
    failure = error;
  }
  db.exec('RELEASE rebuild');
  return failure;
}

const isConstraint = (error: unknown) => sqliteCode(error)?.startsWith('SQLITE_CONSTRAINT') === true;
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
