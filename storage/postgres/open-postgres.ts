import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { DatabaseRefusedError, startLog, type WriterStart } from '../sql/database-setup.js';
import { expectTextRules } from '../sql/text-index.js';
import { unfinishedCopy } from '../sql/unfinished-copy.js';
import { PostgresConnection, type PostgresOptions } from './postgres-connection.js';
import { PostgresError } from './postgres-errors.js';
import { prepareSchema } from './prepare-schema.js';
import { TAKE_LOCK } from './writer-statements.js';

/** Opens a database for writing and brings it to the current schema; safe when several processes do so at once. */
export function openPostgres(
  options: Omit<PostgresOptions, 'readOnly'>,
  start: WriterStart,
): PostgresConnection {
  return connect({ ...options, readOnly: false }, (db) => {
    prepareSchema(db, start.nowMs);
    expectTextRules(db);
    requireOwnNode(db, start);
  });
}

/** Connects, and closes the connection where `prepare` fails. An error of the server is a StartRefusedError. */
export function connect(
  options: PostgresOptions,
  prepare: (db: PostgresConnection) => void,
): PostgresConnection {
  const db = new PostgresConnection(options);
  try {
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error instanceof PostgresError ? refusalOf(error) : error;
  }
}

/** What an error of the server at the start means, by the beginning of its code. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'the database server refuses this role: check the user, the password and pg_hba.conf'],
  [/^3D/, 'the database server has no database of this name: make it, or correct the address'],
  [/^42501/, 'this role lacks a right: docs/postgres.md lists what it needs'],
  [/^53300/, 'the database server has no connection left: raise max_connections, or run fewer daemons'],
  [/^(CONNECTION|08|57P)/, 'the database server cannot be reached'],
  [/^55P03/, 'another process holds the lock of the writers: try again in a moment'],
  [/^25006/, 'the database server takes no writes, it is a replica: name the primary'],
];

/** What a process that cannot go on says about an error of the server. */
export function refusalOf(error: PostgresError): StartRefusedError {
  const known = REFUSALS.find(([pattern]) => pattern.test(error.code));
  const message = `${known?.[1] ?? 'the database server refused'} (${error.code}: ${error.message})`;
  return new StartRefusedError(known === undefined ? 'DATABASE_ERROR' : 'UNAVAILABLE', message, {
    cause: error,
  });
}

const holderOf = (db: PostgresConnection): string | undefined =>
  db.prepare<[], string>('SELECT peer_id FROM log_state').pluck().get();

/**
 * All daemons of a database are one node with one key: they write one chain. Another key would begin a new chain, and the
 * daemons of the other one would take it back. The first daemon begins the chain.
 */
function requireOwnNode(db: PostgresConnection, start: WriterStart): void {
  const own = start.identity.peerId;
  const holder = holderOf(db) ?? beginLog(db, start);
  if (holder === own) return;
  throw new DatabaseRefusedError(
    `the database belongs to the node ${holder}, and this machine's key is that of ${own}: give all daemons of a ` +
      'database one key folder (SVC_KEY_DIR)',
  );
}

function beginLog(db: PostgresConnection, start: WriterStart): string {
  db.exec('BEGIN');
  try {
    db.prepare(TAKE_LOCK).get();
    const holder = holderOf(db);
    if (holder === undefined && unfinishedCopy(db) !== null)
      throw new DatabaseRefusedError(
        'the database has an unfinished copy of another one: run "mnemesh migrate" again, or make an empty database',
      );
    if (holder === undefined) startLog(db, start, 'created');
    db.exec('COMMIT');
    return holder ?? start.identity.peerId;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
