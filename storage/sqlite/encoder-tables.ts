import type { Connection } from './connection.js';

/** The vectors of an encoder, one row for each memory. */
const vectorsTable = (name: string) => `CREATE TABLE ${name} (
  feed INTEGER PRIMARY KEY AUTOINCREMENT,
  rid INTEGER NOT NULL UNIQUE REFERENCES memories (rid) ON DELETE CASCADE,
  model TEXT NOT NULL,
  dim INTEGER NOT NULL,
  vectors BLOB NOT NULL
);`;

/** The vectors that are searched. */
export const EMBEDDINGS_TABLE = vectorsTable('memory_embeddings');

const COMING_TABLE = vectorsTable('coming_embeddings');

interface Named {
  readonly name: string;
  readonly sql: string;
}

const OBJECTS: readonly Named[] = [
  // The encoder whose vectors are searched, and the one that takes its place when it has embedded every memory; local.
  {
    name: 'encoders',
    sql: `CREATE TABLE encoders (
  role TEXT PRIMARY KEY CHECK (role IN ('searched', 'coming')),
  model TEXT NOT NULL,
  dim INTEGER NOT NULL,
  since TEXT NOT NULL
) WITHOUT ROWID;`,
  },
  { name: 'coming_embeddings', sql: COMING_TABLE },
  // What the coming encoder has done: `embed_state` of each memory that it has seen.
  {
    name: 'coming_states',
    sql: `CREATE TABLE coming_states (
  rid INTEGER PRIMARY KEY REFERENCES memories (rid) ON DELETE CASCADE,
  state INTEGER NOT NULL
);`,
  },
  {
    name: 'memories_unvectored',
    sql: 'CREATE INDEX memories_unvectored ON memories (embed_state) WHERE embed_state > 1;',
  },
];

/** Came within form 2: databases without them get them when they are opened for writing. */
export const ENCODER_TABLES = OBJECTS.map(({ sql }) => sql).join('\n');

/** Creates what an earlier release of this form did not have; that release does not look at it. */
export function createEncoderTables(db: Connection): void {
  const exists = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?');
  const missing = () => OBJECTS.filter(({ name }) => exists.get(name) === undefined);
  if (missing().length === 0) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have created them meanwhile.
    for (const { sql } of missing()) db.exec(sql);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Makes the vectors of the coming encoder the searched ones, inside the caller's transaction. */
export const SWITCH_TABLES = `
DROP TABLE memory_embeddings;
ALTER TABLE coming_embeddings RENAME TO memory_embeddings;
${COMING_TABLE}`;
