import type { Connection, Statement } from '../connection.js';

const prepared = new WeakMap<Connection, Map<string, Statement>>();
/** Statements cached for one connection; recall and search have about five dozen texts. */
const STATEMENTS_MAX = 128;

/** Prepares a statement once for each connection. The first caller sets `pluck` and `raw`. */
export function statement(database: Connection, sql: string, shape?: 'pluck' | 'raw'): Statement {
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
