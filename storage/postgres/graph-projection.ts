import { createHash } from 'node:crypto';
import { RELATIONS } from '../../protocol/links/link.js';
import { GRAPH, isProjected } from './graph-engine.js';
import type { PostgresConnection } from './postgres-connection.js';
import { isLoss, PostgresError } from './postgres-errors.js';
import { TAKE_LOCK } from './writer-statements.js';

/** The end of a link that has none, so that Cypher compares texts only. */
const NO_END = '9999-12-31T23:59:59.999Z';

const key = (table: string): string =>
  `ag_catalog.agtype_access_operator(VARIADIC ARRAY[${table}.properties, '"id"'::ag_catalog.agtype])`;
const value = (text: string): string =>
  `ag_catalog.agtype_access_operator(VARIADIC ARRAY[ag_catalog.agtype_build_map('id', ${text}), '"id"'::ag_catalog.agtype])`;

/** The properties of the edge of a link. */
const PROPERTIES = `CREATE OR REPLACE FUNCTION link_properties(link memory_links) RETURNS ag_catalog.agtype LANGUAGE sql STABLE
  RETURN ag_catalog.agtype_build_map('id', link.source_id || '|' || link.target_id || '|' || link.relation,
    'namespace', link.namespace, 'created_at', link.created_at,
    'valid_from', coalesce(link.valid_from, link.created_at), 'valid_until', coalesce(link.valid_until, '${NO_END}'));`;

/** Without the graph (somebody dropped the extension) the trigger does nothing, so that links are written all the same. */
const FUNCTION = `CREATE OR REPLACE FUNCTION project_link() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, ag_catalog, pg_temp AS $project$
BEGIN
  IF to_regtype('ag_catalog.agtype') IS NULL OR to_regclass('${GRAPH}."Memory"') IS NULL THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    EXECUTE format('DELETE FROM ${GRAPH}.%I e USING ${GRAPH}."Memory" a, ${GRAPH}."Memory" b
      WHERE ${key('a').replaceAll("'", "''")} = ${value('$1').replaceAll("'", "''")}
        AND ${key('b').replaceAll("'", "''")} = ${value('$2').replaceAll("'", "''")}
        AND e.start_id = a.id AND e.end_id = b.id', OLD.relation) USING OLD.source_id, OLD.target_id;
    DELETE FROM ${GRAPH}."Memory" v WHERE ${key('v')} IN (${value('OLD.source_id')}, ${value('OLD.target_id')})
      AND NOT EXISTS (SELECT 1 FROM ${GRAPH}._ag_label_edge e WHERE e.start_id = v.id)
      AND NOT EXISTS (SELECT 1 FROM ${GRAPH}._ag_label_edge e WHERE e.end_id = v.id);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO ${GRAPH}."Memory" (properties) VALUES (agtype_build_map('id', NEW.source_id)), (agtype_build_map('id', NEW.target_id))
      ON CONFLICT DO NOTHING;
    EXECUTE format('INSERT INTO ${GRAPH}.%I (start_id, end_id, properties)
      SELECT a.id, b.id, $3 FROM ${GRAPH}."Memory" a, ${GRAPH}."Memory" b
      WHERE ${key('a').replaceAll("'", "''")} = ${value('$1').replaceAll("'", "''")}
        AND ${key('b').replaceAll("'", "''")} = ${value('$2').replaceAll("'", "''")}', NEW.relation)
      USING NEW.source_id, NEW.target_id, @schema@.link_properties(NEW);
  END IF;
  RETURN NULL;
END $project$;`;

const TRIGGER = `CREATE OR REPLACE TRIGGER memory_links_projected AFTER INSERT OR UPDATE OR DELETE ON memory_links FOR EACH ROW
  EXECUTE FUNCTION project_link();`;

/** The labels with their indexes; Cypher finds a vertex by its properties with the first one. */
const LABELS = `SELECT ag_catalog.create_graph('${GRAPH}');
SELECT ag_catalog.create_vlabel('${GRAPH}', 'Memory');
CREATE INDEX ON ${GRAPH}."Memory" USING gin (properties);
CREATE UNIQUE INDEX ON ${GRAPH}."Memory" (id);
CREATE UNIQUE INDEX ON ${GRAPH}."Memory" ((${key('"Memory"')}));
${RELATIONS.map(
  (relation) => `SELECT ag_catalog.create_elabel('${GRAPH}', '${relation}');
CREATE UNIQUE INDEX ON ${GRAPH}."${relation}" (start_id, end_id);
CREATE INDEX ON ${GRAPH}."${relation}" (end_id);`,
).join('\n')}`;

const ENDS = 'SELECT source_id AS end_id FROM memory_links UNION SELECT target_id FROM memory_links';
const FILL = `INSERT INTO ${GRAPH}."Memory" (properties) SELECT ag_catalog.agtype_build_map('id', end_id) FROM (${ENDS}) ends;
ANALYZE ${GRAPH}."Memory";
${RELATIONS.map(
  (relation) => `INSERT INTO ${GRAPH}."${relation}" (start_id, end_id, properties)
  SELECT a.id, b.id, link_properties(l) FROM memory_links l
  JOIN ${GRAPH}."Memory" a ON ${key('a')} = ${value('l.source_id')}
  JOIN ${GRAPH}."Memory" b ON ${key('b')} = ${value('l.target_id')} WHERE l.relation = '${relation}';`,
).join('\n')}`;

/** True when links and edges, or their ends and the vertices, differ. */
const DIFFERS = `WITH edges AS (SELECT properties FROM ${GRAPH}._ag_label_edge),
    links AS (SELECT link_properties(l) AS properties FROM memory_links l),
    vertices AS (SELECT properties FROM ${GRAPH}."Memory"),
    ends AS (SELECT ag_catalog.agtype_build_map('id', end_id) AS properties FROM (${ENDS}) each_end)
  SELECT EXISTS (SELECT * FROM links EXCEPT ALL SELECT * FROM edges) OR EXISTS (SELECT * FROM edges EXCEPT ALL SELECT * FROM links)
    OR EXISTS (SELECT * FROM ends EXCEPT ALL SELECT * FROM vertices) OR EXISTS (SELECT * FROM vertices EXCEPT ALL SELECT * FROM ends)`;

const DEFINITION = createHash('sha256')
  .update(JSON.stringify([PROPERTIES, FUNCTION, TRIGGER, LABELS]))
  .digest('hex')
  .slice(0, 16);

export interface Projection {
  /** True where the graph has the links, and each write of a link is in it as well. */
  readonly created: boolean;
  /** True when this call made the graph, or made it again because it differed from the links. */
  readonly rebuilt: boolean;
  /** Why there is none. */
  readonly problem: string | null;
}

/** Makes the graph, or makes it again where it differs from the links. Nobody writes meanwhile. */
export function projectGraph(db: PostgresConnection): Projection {
  db.exec('BEGIN');
  try {
    db.prepare(TAKE_LOCK).get();
    db.exec('SAVEPOINT projection');
    let found: Projection;
    try {
      found = projected(db);
      db.exec('RELEASE projection');
    } catch (error) {
      if (!(error instanceof PostgresError) || isLoss(error.code)) throw error;
      db.exec('ROLLBACK TO projection');
      found = { created: false, rebuilt: false, problem: `the server refused the graph (${error.message})` };
    }
    db.exec('COMMIT');
    return found;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function projected(db: PostgresConnection): Projection {
  // The operators of AGE are found by the search path.
  db.script("SELECT set_config('search_path', current_setting('search_path') || ', ag_catalog', TRUE)");
  const schema = db
    .prepare<[], string>(
      "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('memory_links')",
    )
    .pluck()
    .get()!;
  const mark = `mnemesh ${schema} ${DEFINITION}`;
  const there = db
    .prepare<[string], string | null>(
      "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = ?",
    )
    .pluck()
    .get(GRAPH);
  if (typeof there === 'string' && !there.startsWith(`mnemesh ${schema} `)) {
    const problem = `the database has something else that is called ${GRAPH}; rename or drop it`;
    return { created: false, rebuilt: false, problem };
  }
  // The schema outlives the extension.
  const isGraph =
    db.prepare<[string]>('SELECT 1 FROM ag_catalog.ag_graph WHERE name = ?').get(GRAPH) !== undefined;
  const isWhole = there === mark && isGraph && isProjected(db) && db.prepare(DIFFERS).pluck().get() === 0;
  if (isWhole) return { created: true, rebuilt: false, problem: null };
  if (isGraph) db.script(`SELECT ag_catalog.drop_graph('${GRAPH}', true)`);
  else if (there !== undefined) db.script(`DROP SCHEMA ${GRAPH} CASCADE`);
  for (const sql of [PROPERTIES, FUNCTION.replace('@schema@', schema), LABELS, FILL, TRIGGER]) db.script(sql);
  db.script(`COMMENT ON SCHEMA ${GRAPH} IS '${mark.replaceAll("'", "''")}'`);
  return { created: true, rebuilt: true, problem: null };
}
