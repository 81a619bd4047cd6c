import type { SelfCheckPage } from '../port.js';
import { type Connection, isCorruption, isDiskError, sqliteCode } from './connection.js';

/** Problems that one page names at most. */
const PROBLEMS_MAX = 20;

/** Has SQLite check its own structures of one table, in order of their names; `after` is the last one that was checked. */
export function selfCheck(db: Connection, after: string | null): SelfCheckPage {
  const tables = db
    .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND name > ? ORDER BY name LIMIT 2")
    .pluck()
    .all(after ?? '') as string[];
  const [table, next] = tables;
  if (table === undefined) return { problems: [], next: null };
  return { problems: problemsOf(db, table), next: next === undefined ? null : table };
}

function problemsOf(db: Connection, table: string): readonly string[] {
  return linesOf(db, `quick_check("${table.replaceAll('"', '""')}")`)
    .filter((line) => line !== 'ok')
    .slice(0, PROBLEMS_MAX)
    .map((line) => `${table}: ${line}`);
}

/** The lines of a check of SQLite. An entry or a value that makes no sense ends it, and is its last line. */
export function linesOf(db: Connection, check: string): readonly string[] {
  try {
    return (db.pragma(check) as Record<string, string>[]).map((row) => Object.values(row)[0] ?? '');
  } catch (error) {
    if (sqliteCode(error) === null || (isDiskError(error) && !isCorruption(error))) throw error;
    return [(error as Error).message];
  }
}
