import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { DatabaseRefusedError, type WriterStart } from '../sql/database-setup.js';
import { FORMAT_MARK } from '../sql/schema.js';
import type { Synchronous } from './connection.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** The parameters for opening a database for writing. */
export interface OpenOptions extends WriterStart {
  /** A file, or `:memory:`. A migration names its snapshot by the fresh epoch. */
  readonly path: string;
  readonly crypto: Crypto;
  readonly busyTimeoutMs: number;
  readonly synchronous?: Synchronous;
  /** Open the database for this process alone when a full disk has no room for sharing it. */
  readonly aloneIfFull?: boolean;
}

/**
 * The schema version of a database, 0 for an empty one. Throws for a database of another program, and for one in a
 * format of this version that was never released.
 */
export function schemaVersion(db: SqliteConnection): number {
  const table = db
    .prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'")
    .get() as { n: number };
  if (table.n === 0) {
    const any = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
    if (any.n > 0) throw new DatabaseRefusedError('this file is a database of another program');
    return 0;
  }
  const row = db.prepare('SELECT max(version) AS version FROM schema_version').get() as {
    version: number | null;
  };
  if (row.version === SCHEMA_VERSION) expectFormat(db);
  return row.version ?? 0;
}

/** The last member that came to the format before it was released. */
const LAST_COLUMN = "SELECT 1 FROM pragma_table_xinfo('memory_links') WHERE name = 'earlier'";

function expectFormat(db: SqliteConnection): void {
  const mark = db.pragma('user_version', { simple: true }) as number;
  if (mark > FORMAT_MARK) {
    throw new DatabaseRefusedError('a newer release wrote this database: install a newer release');
  }
  if (mark === FORMAT_MARK && db.prepare(LAST_COLUMN).get() !== undefined) return;
  throw new DatabaseRefusedError(
    'an unreleased version wrote this database, in a format that no release reads: export it with that version, and ' +
      'import it into a new database',
  );
}
