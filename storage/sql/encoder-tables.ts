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

/** What an encoder has done beside the searched one. */
export const ENCODER_TABLES = `-- The encoder whose vectors are searched, and the one that takes its place when it has embedded every memory; local.
CREATE TABLE encoders (
  role TEXT PRIMARY KEY CHECK (role IN ('searched', 'coming')),
  model TEXT NOT NULL,
  dim INTEGER NOT NULL,
  since TEXT NOT NULL
) WITHOUT ROWID;
${COMING_TABLE}
-- What the coming encoder has done: embed_state of each memory that it has seen.
CREATE TABLE coming_states (
  rid INTEGER PRIMARY KEY REFERENCES memories (rid) ON DELETE CASCADE,
  state INTEGER NOT NULL
);
CREATE INDEX memories_unvectored ON memories (embed_state) WHERE embed_state > 1;`;

/**
 * Makes the vectors of the coming encoder the searched ones, inside the caller's transaction. The role of a daemon need not own
 * the tables of a server.
 */
export const SWITCH_TABLES = {
  sqlite: `
DROP TABLE memory_embeddings;
ALTER TABLE coming_embeddings RENAME TO memory_embeddings;
${COMING_TABLE}`,
  postgres: `
DELETE FROM memory_embeddings;
INSERT INTO memory_embeddings (rid, model, dim, vectors) SELECT rid, model, dim, vectors FROM coming_embeddings ORDER BY feed;
DELETE FROM coming_embeddings;`,
} as const;
