import type { Connection } from '../../storage/sql/connection.js';
import { onPostgres } from './test-store.js';

const TABLES = onPostgres
  ? "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
  : "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";

/** The columns in which a text lies, as `table.column`, in every table of a database. */
export function rowsWith(db: Connection, text: string): string[] {
  const sought = text.toLowerCase();
  const found = new Set<string>();
  for (const { name } of db.prepare(TABLES).all() as { name: string }[])
    for (const row of db.prepare(`SELECT * FROM ${name}`).all() as Record<string, unknown>[])
      for (const [column, value] of Object.entries(row)) {
        const said = Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value);
        if (said?.toLowerCase().includes(sought) === true) found.add(`${name}.${column}`);
      }
  return [...found].sort();
}
