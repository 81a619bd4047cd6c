import type { Crypto } from '../../protocol/base/seams.js';
import { connect, openPostgres } from '../postgres/open-postgres.js';
import { AuditHeadFile } from '../sql/audit-head.js';
import type { Connection } from '../sql/connection.js';
import type { WriterStart } from '../sql/database-setup.js';
import { openReader, type Synchronous } from '../sqlite/connection.js';
import { openDatabase } from '../sqlite/open-database.js';

/** Where a database is, as data that crosses threads. */
export type DatabasePlace =
  | { readonly engine: 'sqlite'; readonly path: string; readonly synchronous: Synchronous }
  | {
      readonly engine: 'postgres';
      /** It may hold a password, so nothing prints it. */
      readonly url: string;
      readonly statementTimeoutMs: number;
      /** The file for the ends of the audit chain. */
      readonly auditHeadPath: string;
    };

export interface OpenForWriting extends WriterStart {
  readonly crypto: Crypto;
  /** How long one statement waits for another process. */
  readonly busyTimeoutMs: number;
  /** Open a file for this process alone when a full disk has no room for sharing it. */
  readonly aloneIfFull?: boolean;
}

/** Opens, creates or migrates the database. Throws StartRefusedError. */
export function openForWriting(place: DatabasePlace, options: OpenForWriting): Connection {
  if (place.engine === 'sqlite')
    return openDatabase({ ...options, path: place.path, synchronous: place.synchronous });
  return openPostgres({ ...serverOf(place), auditHeads: new AuditHeadFile(place.auditHeadPath) }, options);
}

/** Opens a connection that cannot write. The database must exist. One that reads few rows maps no file (`mapped` false). */
export function openForReading(place: DatabasePlace, { mapped = true } = {}): Connection {
  if (place.engine === 'sqlite') return openReader(place.path, { mapped });
  const auditHeads = new AuditHeadFile(place.auditHeadPath);
  return connect({ ...serverOf(place), readOnly: true, auditHeads }, () => {});
}

const serverOf = ({ url, statementTimeoutMs }: Extract<DatabasePlace, { engine: 'postgres' }>) => ({
  url,
  statementTimeoutMs,
});
