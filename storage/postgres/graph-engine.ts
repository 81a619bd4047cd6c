import type { Connection, GraphEngine } from '../sql/connection.js';
import { isLoss, PostgresError } from './postgres-errors.js';

/** The graph of Apache AGE that has what the links say now. */
export const GRAPH = 'memory_graph';

const TRIGGERED = `SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass('memory_links') AND tgname = 'memory_links_projected'
  AND tgenabled IN ('O', 'A')`;

/** True where each write of a link is written to the graph as well. */
export const isProjected = (db: Pick<Connection, 'prepare'>): boolean =>
  db.prepare(TRIGGERED).get() !== undefined;

export interface GraphFacts {
  readonly engine: GraphEngine;
  /** Why Cypher cannot be used although the database has a graph. */
  readonly problem: string | null;
  /** What the graph has; null where it cannot be asked. */
  readonly edges: number | null;
}

/** Asks the graph itself: the extension may be there, and this role, or this session, may not use it. */
export function graphEngineOf(db: Connection): Omit<GraphFacts, 'edges'> {
  const alone = (problem: string | null) => ({ engine: 'cte', problem }) as const;
  if (!isProjected(db)) return alone(null);
  const graph = db.prepare('SELECT 1 FROM pg_namespace WHERE nspname = ?').get(GRAPH);
  if (graph === undefined) return alone('the graph is gone; "mnemesh schema-init" makes it again');
  // Only a superuser may load a library; elsewhere the server has loaded it before (shared_preload_libraries).
  tried(db, () => db.exec("LOAD 'age'"));
  const cypher = `SELECT 1 FROM ag_catalog.cypher('${GRAPH}', $$ RETURN 1 $$) AS (one ag_catalog.agtype)`;
  const found = tried(db, () => {
    db.prepare(cypher).get();
    return db.prepare(`SELECT 1 FROM ${GRAPH}._ag_label_edge LIMIT 1`).get();
  });
  return found instanceof PostgresError
    ? alone(`this role cannot use Cypher (${found.message}): docs/postgres-extensions.md says what it needs`)
    : { engine: 'age+cte', problem: null };
}

/** The same, with the edges counted: that reads all of them. */
export function graphFacts(db: Connection): GraphFacts {
  const found = graphEngineOf(db);
  if (found.engine === 'cte') return { ...found, edges: null };
  const edges = db.prepare<[], number>(`SELECT count(*) FROM ${GRAPH}._ag_label_edge`).pluck().get()!;
  return { ...found, edges };
}

/** The error of the server instead of what was asked; the transaction around it goes on. */
function tried<T>(db: Connection, ask: () => T): T | PostgresError {
  const within = db.inTransaction;
  if (within) db.exec('SAVEPOINT tried');
  try {
    const found = ask();
    if (within) db.exec('RELEASE tried');
    return found;
  } catch (error) {
    if (!(error instanceof PostgresError) || isLoss(error.code)) throw error;
    if (within) db.exec('ROLLBACK TO tried');
    return error;
  }
}
