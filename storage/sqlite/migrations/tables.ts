import type { SqliteConnection } from '../sqlite-connection.js';

const PREFIX = 'older_';

/** The name of a table while its successor is filled. */
export function asideName(table: string): string {
  return `${PREFIX}${table}`;
}

/** Names of the tables of a database, virtual ones included, without SQLite's own and their shadows. */
export function tableNames(db: SqliteConnection, type: 'table' | 'virtual'): string[] {
  const rows = db
    .prepare<[string], { name: string }>(
      `SELECT name FROM pragma_table_list
       WHERE schema = 'main' AND type = ? AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all(type);
  return rows.map((row) => row.name);
}

export interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  /** SQL text of the default, or null. */
  readonly dflt_value: string | null;
}

/** The writable columns of a table, without generated ones. */
export function writableColumns(db: SqliteConnection, table: string): ColumnInfo[] {
  return db
    .prepare<[string], ColumnInfo>(
      'SELECT name, type, "notnull", dflt_value FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid',
    )
    .all(table);
}

export function columnNames(db: SqliteConnection, table: string): string[] {
  return writableColumns(db, table).map((column) => column.name);
}

/**
 * Makes room for a table's successor: drops its triggers and indexes and renames it to `asideName`. Needs
 * `legacy_alter_table`, so that other tables still refer to the old name and not to the renamed table.
 */
export function setAside(db: SqliteConnection, table: string): void {
  const attached = db
    .prepare<[string], { type: string; name: string }>(
      `SELECT type, name FROM sqlite_schema WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL`,
    )
    .all(table);
  for (const { type, name } of attached) db.exec(`DROP ${type === 'index' ? 'INDEX' : 'TRIGGER'} "${name}"`);
  db.exec(`ALTER TABLE "${table}" RENAME TO "${asideName(table)}"`);
}

/** Copies the columns that both tables have, and drops the old one. Throws when the counts differ. */
export function moveRows(
  db: SqliteConnection,
  table: string,
  /** SQL over the old row for columns that need a conversion. */
  expressions: Readonly<Record<string, string>> = {},
  parameters: Readonly<Record<string, string>> = {},
): void {
  const old = new Set(columnNames(db, asideName(table)));
  const columns = columnNames(db, table).filter((name) => name in expressions || old.has(name));
  const values = columns.map((name) => expressions[name] ?? `"${name}"`);
  db.prepare(
    `INSERT INTO "${table}" (${columns.map((name) => `"${name}"`).join(', ')})
     SELECT ${values.join(', ')} FROM "${asideName(table)}"`,
  ).run(parameters);
  dropAside(db, table);
}

/** Drops the old table once its successor holds as many rows; other counts would mean lost data, so it throws. */
export function dropAside(db: SqliteConnection, table: string): void {
  const before = rowCount(db, asideName(table));
  const after = rowCount(db, table);
  if (before !== after) throw new Error(`table ${table} had ${before} rows and would have ${after}`);
  db.exec(`DROP TABLE "${asideName(table)}"`);
}

function rowCount(db: SqliteConnection, table: string): number {
  return (db.prepare(`SELECT count(*) AS n FROM "${table}"`).get() as { n: number }).n;
}
