import type { Database, Statement } from 'better-sqlite3';

const prepared = new WeakMap<Database, Map<string, Statement>>();
/** Statements cached for one connection; recall and search have about five dozen texts. */
const STATEMENTS_MAX = 128;

/** Prepares a statement once for each connection. The first caller sets `pluck` and `raw`. */
export function statement(database: Database, sql: string, shape?: 'pluck' | 'raw'): Statement {
  let statements = prepared.get(database);
  if (statements === undefined) {
    statements = new Map();
    prepared.set(database, statements);
  }
  let found = statements.get(sql);
  if (found === undefined) {
    found = database.prepare(sql);
    if (shape === 'pluck') found.pluck();
    if (shape === 'raw') found.raw();
    if (statements.size >= STATEMENTS_MAX) statements.clear();
    statements.set(sql, found);
  }
  return found;
}
