import { createHash } from 'node:crypto';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { DatabaseRefusedError } from '../sql/database-setup.js';
import { FORMER_INDEXES } from '../sql/schema.js';
import type { PostgresConnection } from './postgres-connection.js';
import { PostgresError } from './postgres-errors.js';
import { localColumns, postgresSchema } from './schema.js';
import { TAKE_LOCK } from './writer-statements.js';

/** What the tables of this program are, as a comment on one of them: another release has another text. */
const markOf = (): string =>
  `mnemesh ${createHash('sha256')
    .update(JSON.stringify([postgresSchema(), localColumns()]))
    .digest('hex')
    .slice(0, 16)}`;

let mark: string | null = null;
const ownMark = (): string => {
  mark ??= markOf();
  return mark;
};

interface State {
  /** 0 where there is no table. */
  readonly version: number;
  readonly mark: string | null;
  /** True where this role owns the tables. */
  readonly owns: boolean;
}

const TABLE = `SELECT obj_description(oid, 'pg_class') AS mark, pg_has_role(current_user, relowner, 'USAGE') AS owns
  FROM pg_class WHERE oid = to_regclass('schema_version')`;

function stateOf(db: PostgresConnection): State {
  const found = db.prepare<[], { readonly mark: string | null; readonly owns: number }>(TABLE).get();
  if (found === undefined) return { version: 0, mark: null, owns: true };
  const version = db.prepare<[], number | null>('SELECT max(version) FROM schema_version').pluck().get() ?? 0;
  return { version, mark: found.mark, owns: found.owns === 1 };
}

/** The schema version of the database; 0 where there is none. */
export const postgresSchemaVersion = (db: PostgresConnection): number => stateOf(db).version;

const isCurrent = ({ version, mark: found }: State): boolean =>
  version === SCHEMA_VERSION && found === ownMark();

/** Makes the tables, indexes and functions that are missing, under the lock of the writers. True when it made something. */
export function prepareSchema(db: PostgresConnection, nowMs: number): boolean {
  if (isCurrent(stateOf(db))) return false;
  db.exec('BEGIN');
  try {
    db.prepare(TAKE_LOCK).get();
    const made = makeWhatIsMissing(db, stateOf(db), nowMs);
    db.exec('COMMIT');
    return made;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw mayNotCreate(error) ? new DatabaseRefusedError(refusalOf(db), { cause: error }) : error;
  }
}

function makeWhatIsMissing(db: PostgresConnection, state: State, nowMs: number): boolean {
  const { version, owns } = state;
  if (version > SCHEMA_VERSION)
    throw new DatabaseRefusedError(
      `the database has schema version ${version}, this release knows ${SCHEMA_VERSION}: install a newer release`,
    );
  if (isCurrent(state)) return false;
  const statements = missingParts(db);
  // Another role made the tables; what is there is enough.
  if (!owns && !statements.some(({ name }) => name !== null)) return false;
  for (const { sql } of statements) db.script(sql);
  if (owns) for (const name of FORMER_INDEXES) db.script(`DROP INDEX IF EXISTS ${name}`);
  if (version === 0) {
    const insertion = db.prepare('INSERT INTO schema_version (version, applied_at) VALUES (?, ?)');
    insertion.run(SCHEMA_VERSION, instantFromMs(nowMs));
  }
  db.script(`COMMENT ON TABLE schema_version IS '${ownMark()}'`);
  return true;
}

/** The schema that holds the tables; where there are none, the first one of the search path. */
const SCHEMA_OF_TABLES = `coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_version')),
  current_schema()::regnamespace::oid)`;

function missingParts(
  db: PostgresConnection,
): readonly { readonly name: string | null; readonly sql: string }[] {
  const names = db
    .prepare<[], string>(`SELECT relname FROM pg_class WHERE relnamespace = ${SCHEMA_OF_TABLES}`)
    .pluck()
    .all();
  const there = new Set(names);
  const columns = db
    .prepare<[], string>(
      `SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE c.relnamespace = ${SCHEMA_OF_TABLES} AND a.attnum > 0 AND NOT a.attisdropped`,
    )
    .pluck()
    .all();
  const known = new Set(columns);
  const parts = postgresSchema().filter(({ name, isRow }) =>
    isRow ? !there.has('schema_version') : name === null || !there.has(name),
  );
  const added = localColumns()
    .filter(({ table, column }) => there.has(table) && !known.has(`${table}.${column}`))
    .map(({ column, sql }) => ({ name: column, sql }));
  // Columns come before the indexes on them.
  return [...parts.slice(0, 1), ...added, ...parts.slice(1)];
}

const mayNotCreate = (error: unknown): boolean => error instanceof PostgresError && error.code === '42501';

function refusalOf(db: PostgresConnection): string {
  const [role, schema] = db
    .prepare<[], [string, string]>('SELECT current_user, current_schema()')
    .raw()
    .get()!;
  return (
    `the role ${role} may not make the tables of this release in the schema ${schema ?? 'public'}: run "mnemesh schema-init" ` +
    'with a role that may, or grant it CREATE on the schema'
  );
}

/** What a schema of this program consists of on the server, by name. */
export interface SchemaObjects {
  readonly tables: readonly string[];
  readonly views: readonly string[];
  readonly functions: readonly string[];
  readonly indices: readonly string[];
}

/** The objects of the schema that holds the tables. */
export function schemaObjects(db: PostgresConnection): SchemaObjects {
  const own = new Set(postgresSchema().flatMap(({ name }) => name ?? []));
  const named = (kind: string) =>
    db
      .prepare<[string], string>(
        `SELECT relname FROM pg_class WHERE relnamespace = ${SCHEMA_OF_TABLES} AND relkind::text = ? ORDER BY relname`,
      )
      .pluck()
      .all(kind);
  const indices = db
    .prepare<[], [string, string]>(
      `SELECT i.relname, t.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
       JOIN pg_class t ON t.oid = x.indrelid WHERE t.relnamespace = ${SCHEMA_OF_TABLES} ORDER BY i.relname`,
    )
    .raw()
    .all();
  const functions = db
    .prepare<[], string>(
      `SELECT DISTINCT proname FROM pg_proc p WHERE pronamespace = ${SCHEMA_OF_TABLES}
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY proname`,
    )
    .pluck()
    .all();
  const isOwn = (name: string) => own.has(name);
  return {
    tables: named('r').filter(isOwn),
    views: named('v').filter(isOwn),
    functions,
    indices: indices.filter(([, table]) => isOwn(table)).map(([name]) => name),
  };
}
