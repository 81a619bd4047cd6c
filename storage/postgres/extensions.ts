import type { PostgresConnection } from './postgres-connection.js';
import { PostgresError } from './postgres-errors.js';
import { TAKE_LOCK } from './writer-statements.js';

/** Extensions that a database gets where its server has them. */
const WANTED = ['vector', 'age'] as const;

export interface Extension {
  readonly name: string;
  /** Null where the database does not have it. */
  readonly version: string | null;
  /** Why it does not have it. */
  readonly problem: string | null;
}

interface Available {
  readonly name: string;
  readonly installed: string | null;
}

/** The extensions of a database that matter here; `create` makes those that the server offers. */
export function extensionsOf(
  db: PostgresConnection,
  { create }: { readonly create: boolean },
): readonly Extension[] {
  if (create) db.exec('BEGIN');
  try {
    if (create) db.prepare(TAKE_LOCK).get();
    const found = WANTED.map((name) => extension(db, name, create));
    if (create) db.exec('COMMIT');
    return found;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function extension(db: PostgresConnection, name: string, create: boolean): Extension {
  const asked = 'SELECT name, installed_version AS installed FROM pg_available_extensions WHERE name = ?';
  const available = db.prepare<[string], Available>(asked).get(name);
  if (available === undefined) return { name, version: null, problem: 'the server does not have it' };
  if (available.installed !== null) return { name, version: available.installed, problem: null };
  if (!create)
    return { name, version: null, problem: 'the database does not have it; "mnemesh schema-init" makes it' };
  db.exec('SAVEPOINT extension');
  try {
    db.script(`CREATE EXTENSION ${name}`);
    db.exec('RELEASE extension');
    return {
      name,
      version: db.prepare<[string], Available>(asked).get(name)?.installed ?? null,
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof PostgresError) || /^(CONNECTION$|08|57P)/.test(error.code)) throw error;
    db.exec('ROLLBACK TO extension');
    const why =
      error.code === '42501'
        ? 'this role may not create it: ask a superuser'
        : `the server refused (${error.message})`;
    return { name, version: null, problem: why };
  }
}
