import type { Database } from 'better-sqlite3';
import type { SelfCheckPage } from '../port.js';
import { isCorruption, isDiskError, sqliteCode } from './sqlite-errors.js';

/** The largest number of problems on one page. */
const PROBLEMS_MAX = 20;

/** Makes SQLite check its own structures of one table, in order of their names; `after` is the last table checked. */
export function selfCheck(db: Database, after: string | null): SelfCheckPage {
  const tables = db
    .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND name > ? ORDER BY name LIMIT 2")
    .pluck()
    .all(after ?? '') as string[];
  const [table, next] = tables;
  if (table === undefined) return { problems: [], next: null };
  return { problems: problemsOf(db, table), next: next === undefined ? null : table };
}

function problemsOf(db: Database, table: string): readonly string[] {
  return linesOf(db, `quick_check("${table.replaceAll('"', '""')}")`)
    .filter((line) => line !== 'ok')
    .slice(0, PROBLEMS_MAX)
    .map((line) => `${table}: ${line}`);
}

/** The lines of a SQLite check. It ends at the first entry or value that makes no sense, and that is its last line. */
export function linesOf(db: Database, check: string): readonly string[] {
  try {
    return (db.pragma(check) as Record<string, string>[]).map((row) => Object.values(row)[0] ?? '');
  } catch (error) {
    if (sqliteCode(error) === null || (isDiskError(error) && !isCorruption(error))) throw error;
    return [(error as Error).message];
  }
}
