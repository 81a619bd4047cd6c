import { POLICY_REFUSAL } from '../../protocol/policies/note-refusal.js';
import { TEXT_INDEX_ROW, TEXT_INDEX_TABLE } from './text-index.js';

/**
 * The SQLite schema at version 55, as a fresh database gets it. Databases of versions 49 to 54 reach the same schema
 * through `migrations/`; a test compares the two.
 *
 * The full text follows deletes by trigger. `text-index.ts` indexes inserts and updates, because the index also holds
 * terms that its tokenizer does not find, and because a trigger makes SQLite open a statement journal: then FTS5 flushes
 * its buffers for every single row.
 *
 * Conventions: instants are canonical UTC text (`YYYY-MM-DDTHH:MM:SS.sssZ`), so text order is time order; JSON columns
 * are text; hashes are lower-case hex.
 */

import { EMBEDDINGS_TABLE, ENCODER_TABLES } from './encoder-tables.js';
import { LOCAL_TABLES } from './kinds/local-tables.js';

/** Columns that a live and an archived memory share, in table order (interface §2.1, reference-http §8). */
export const MEMORY_COLUMNS = `
  tier TEXT NOT NULL CHECK (tier IN ('short', 'mid', 'long')),
  namespace TEXT NOT NULL,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  tags TEXT NOT NULL DEFAULT '[]',
  priority INTEGER NOT NULL DEFAULT 5 CHECK (priority BETWEEN 1 AND 10),
  confidence REAL NOT NULL DEFAULT 1.0 CHECK (confidence BETWEEN 0 AND 1),
  source TEXT NOT NULL DEFAULT 'api',
  access_count INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  last_accessed_at TEXT,
  expires_at TEXT,
  metadata TEXT NOT NULL DEFAULT '{}',
  reflection_depth INTEGER NOT NULL DEFAULT 0,
  memory_kind TEXT NOT NULL DEFAULT 'observation',
  atomised_into INTEGER,
  atom_of TEXT,
  entity_id TEXT,
  persona_version INTEGER,
  citations TEXT NOT NULL DEFAULT '[]',
  source_uri TEXT,
  source_span TEXT,
  confidence_source TEXT NOT NULL DEFAULT 'caller_provided',
  confidence_signals TEXT,
  confidence_decayed_at TEXT,
  mentioned_entity_id TEXT,
  version INTEGER NOT NULL DEFAULT 1,
  write_signature TEXT,
  created_hlc TEXT NOT NULL DEFAULT '',
  edited TEXT NOT NULL DEFAULT '',
  rest TEXT NOT NULL DEFAULT '{}',
  hlc TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT '',
  origin_seq INTEGER NOT NULL DEFAULT 0,
  seen TEXT NOT NULL DEFAULT '{}'`;

/**
 * Members of links that came after the first format of the kind, by name. They lie in `rest`, where an earlier release
 * keeps what it does not know; queries read them as columns.
 */
export const LINK_COLUMNS = {
  retired_at: laterColumn('retired_at'),
  believed_until: laterColumn('believed_until'),
  believed_from: laterColumn('believed_from'),
  earlier: laterColumn('earlier', 'array'),
} as const;

/** The place of a memory in a conversation, which lies in `rest` among the later members; a query names it as its index does. */
export const SPOKEN = {
  conversation: "iif(json_valid(rest), rest ->> '$.conversation', NULL)",
  turn: "iif(json_valid(rest), CAST(rest ->> '$.turn' AS INTEGER), NULL)",
} as const;

function laterColumn(name: string, type?: 'array'): string {
  const value = `rest ->> '$.${name}'`;
  const read = type === undefined ? value : `iif(json_type(rest, '$.${name}') = '${type}', ${value}, NULL)`;
  return `${name} TEXT GENERATED ALWAYS AS (iif(json_valid(rest), ${read}, NULL)) VIRTUAL`;
}

/** Indexes of earlier releases that others serve now: a database drops them when it opens, and each store writes fewer pages. */
export const FORMER_INDEXES: readonly string[] = [
  'memories_namespace',
  'memories_updated_at',
  'recall_observations_agent',
];

/** SQLite's `user_version` in a database of this format. A change of the format raises the schema version instead. */
export const FORMAT_MARK = 3;

export const SCHEMA = `
PRAGMA user_version = ${FORMAT_MARK};

CREATE TABLE schema_version (version INTEGER NOT NULL, applied_at TEXT NOT NULL);

CREATE TABLE namespaces (
  ns_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE memories (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,${MEMORY_COLUMNS},
  ns_id INTEGER NOT NULL REFERENCES namespaces (ns_id),
  conflict_of TEXT,
  embed_state INTEGER NOT NULL DEFAULT 0,
  life_at TEXT,
  digest BLOB,
  owner_id TEXT GENERATED ALWAYS AS (iif(json_type(metadata, '$.agent_id') = 'text', metadata ->> '$.agent_id', NULL)) STORED,
  scope TEXT GENERATED ALWAYS AS (metadata ->> '$.scope') STORED,
  addressee_id TEXT GENERATED ALWAYS AS (coalesce(
    iif(json_type(metadata, '$.target_agent_id') = 'text', metadata ->> '$.target_agent_id', NULL),
    iif(json_type(metadata, '$.recipient_agent_id') = 'text', metadata ->> '$.recipient_agent_id', NULL))) STORED
);
CREATE UNIQUE INDEX memories_title ON memories (title, namespace) WHERE conflict_of IS NULL;
CREATE INDEX memories_title_conflicts ON memories (title, namespace) WHERE conflict_of IS NOT NULL;
CREATE INDEX memories_listed ON memories (priority DESC, updated_at DESC);
CREATE INDEX memories_listed_in_namespace ON memories (ns_id, priority DESC, updated_at DESC);
CREATE INDEX memories_created_at ON memories (created_at, id);
CREATE INDEX memories_expires_at ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_source_uri ON memories (source_uri) WHERE source_uri IS NOT NULL;
CREATE INDEX memories_unembedded ON memories (rid) WHERE embed_state = 0;
-- The reflections about an entity.
CREATE INDEX memories_mentioned ON memories (mentioned_entity_id) WHERE mentioned_entity_id IS NOT NULL;
CREATE INDEX memories_persona ON memories (entity_id, persona_version) WHERE persona_version IS NOT NULL;
-- The turns of a conversation, in their order.
CREATE INDEX memories_conversation ON memories
  (${SPOKEN.conversation}, ns_id, owner_id, ${SPOKEN.turn}) WHERE ${SPOKEN.conversation} IS NOT NULL;
CREATE INDEX memories_atoms ON memories (atom_of) WHERE atom_of IS NOT NULL;
-- The messages to an agent, the newest first.
CREATE INDEX memories_addressee ON memories
  (addressee_id, created_at DESC, created_hlc DESC, id DESC) WHERE addressee_id IS NOT NULL;

CREATE VIRTUAL TABLE memories_fts USING fts5 (
  title, content, tags, nst,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN
  DELETE FROM memories_fts WHERE rowid = old.rid;
END;
${TEXT_INDEX_TABLE}
${TEXT_INDEX_ROW}

${EMBEDDINGS_TABLE}
${ENCODER_TABLES}

-- Rows that say nearly the same; local, found after their commit.
CREATE TABLE near_duplicates (
  rid INTEGER NOT NULL REFERENCES memories (rid) ON DELETE CASCADE,
  other_rid INTEGER NOT NULL REFERENCES memories (rid) ON DELETE CASCADE,
  similarity REAL NOT NULL,
  PRIMARY KEY (rid, other_rid)
) WITHOUT ROWID;
CREATE INDEX near_duplicates_other ON near_duplicates (other_rid);

-- The commit sequence up to which rows were compared.
CREATE TABLE near_duplicates_through (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  commit_sequence INTEGER NOT NULL
);

${LOCAL_TABLES}

CREATE TABLE memory_links (
  source_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  relation TEXT NOT NULL CHECK (relation IN ('related_to', 'supersedes', 'contradicts', 'derived_from', 'reflects_on',
    'derives_from', 'decomposes_into', 'depends_on', 'advances')),
  created_at TEXT NOT NULL,
  valid_from TEXT,
  valid_until TEXT,
  observed_by TEXT,
  signature BLOB,
  attest_level TEXT NOT NULL DEFAULT 'unsigned',
  signed_at TEXT,
  namespace TEXT NOT NULL DEFAULT 'global',
  hlc TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT '',
  origin_seq INTEGER NOT NULL DEFAULT 0,
  seen TEXT NOT NULL DEFAULT '{}',
  digest BLOB,
  rest TEXT NOT NULL DEFAULT '{}',
  ${Object.values(LINK_COLUMNS).join(',\n  ')},
  PRIMARY KEY (source_id, target_id, relation)
) WITHOUT ROWID;
CREATE INDEX memory_links_target ON memory_links (target_id);
-- The links of a memory in the order in which a walk takes them.
CREATE INDEX memory_links_walk ON memory_links
  (source_id, coalesce(valid_from, created_at), created_at, target_id, relation);
-- The links of a memory that were made again or corrected.
CREATE INDEX memory_links_earlier ON memory_links (source_id, target_id)
  WHERE earlier IS NOT NULL;
CREATE INDEX memory_links_earlier_target ON memory_links (target_id)
  WHERE earlier IS NOT NULL;

CREATE TABLE archived_memories (
  id TEXT PRIMARY KEY,${MEMORY_COLUMNS},
  archived_at TEXT NOT NULL,
  archive_reason TEXT NOT NULL,
  embedding BLOB,
  embedding_dim INTEGER,
  original_tier TEXT,
  original_expires_at TEXT,
  embedding_model TEXT,
  owner_id TEXT GENERATED ALWAYS AS (iif(json_type(metadata, '$.agent_id') = 'text', metadata ->> '$.agent_id', NULL)) VIRTUAL,
  scope TEXT GENERATED ALWAYS AS (metadata ->> '$.scope') VIRTUAL,
  addressee_id TEXT GENERATED ALWAYS AS (coalesce(
    iif(json_type(metadata, '$.target_agent_id') = 'text', metadata ->> '$.target_agent_id', NULL),
    iif(json_type(metadata, '$.recipient_agent_id') = 'text', metadata ->> '$.recipient_agent_id', NULL))) VIRTUAL
);
CREATE INDEX archived_memories_archived_at ON archived_memories (archived_at);
CREATE INDEX archived_memories_owner ON archived_memories (owner_id, archived_at);

CREATE TABLE records (
  rid INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  owner_id TEXT,
  payload TEXT NOT NULL,
  hlc TEXT NOT NULL,
  origin TEXT NOT NULL,
  origin_seq INTEGER NOT NULL,
  seen TEXT NOT NULL,
  digest BLOB,
  UNIQUE (kind, id)
);
CREATE INDEX records_namespace ON records (kind, namespace);

-- facts: what the kind says of a removal, as canonical JSON.
CREATE TABLE tombstones (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  deleted_at TEXT NOT NULL,
  hlc TEXT NOT NULL,
  origin TEXT NOT NULL,
  origin_seq INTEGER NOT NULL,
  seen TEXT NOT NULL,
  word TEXT NOT NULL,
  reason TEXT NOT NULL,
  facts TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (kind, id)
);

CREATE TABLE siblings (
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  origin TEXT NOT NULL,
  origin_seq INTEGER NOT NULL,
  PRIMARY KEY (kind, subject, origin, origin_seq)
) WITHOUT ROWID;

CREATE TABLE conflicts (
  origin TEXT NOT NULL,
  origin_seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  namespace TEXT NOT NULL,
  winner TEXT NOT NULL,
  PRIMARY KEY (origin, origin_seq)
) WITHOUT ROWID;

CREATE TABLE namespace_digests (
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  digest BLOB NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (kind, namespace)
) WITHOUT ROWID;

-- Subjects whose rows were found damaged and wait for their repair; local.
CREATE TABLE suspects (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  noted_at TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;

CREATE TABLE agent_quotas (
  agent_id TEXT NOT NULL,
  namespace TEXT NOT NULL DEFAULT '_global',
  max_memories_per_day INTEGER NOT NULL,
  max_storage_bytes INTEGER NOT NULL,
  max_links_per_day INTEGER NOT NULL,
  current_memories_today INTEGER NOT NULL DEFAULT 0,
  current_storage_bytes INTEGER NOT NULL DEFAULT 0,
  current_links_today INTEGER NOT NULL DEFAULT 0,
  day_started_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  current_written_bytes_today INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent_id, namespace)
) WITHOUT ROWID;

CREATE TABLE write_envelopes (
  fingerprint TEXT PRIMARY KEY,
  memory_id TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX write_envelopes_expiry ON write_envelopes (expires_at_ms);

CREATE TABLE signed_events (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload_hash BLOB NOT NULL,
  payload TEXT,
  signature BLOB,
  public_key BLOB,
  attest_level TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  prev_hash BLOB NOT NULL,
  form INTEGER NOT NULL DEFAULT 1
);
-- Refusals by policies, which are counted before one more is recorded.
CREATE INDEX signed_events_refusals ON signed_events (timestamp, agent_id)
  WHERE event_type = '${POLICY_REFUSAL}';
CREATE TRIGGER signed_events_no_update BEFORE UPDATE ON signed_events BEGIN
  SELECT raise(ABORT, 'the audit chain is append-only');
END;
CREATE TRIGGER signed_events_no_delete BEFORE DELETE ON signed_events BEGIN
  SELECT raise(ABORT, 'the audit chain is append-only');
END;

CREATE TABLE federation_nonce_cache (
  peer_id TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  last_touch INTEGER NOT NULL,
  inserted_at TEXT NOT NULL,
  PRIMARY KEY (peer_id, fingerprint)
) WITHOUT ROWID;
CREATE INDEX federation_nonce_cache_peer ON federation_nonce_cache (peer_id, last_touch);
CREATE INDEX federation_nonce_cache_touch ON federation_nonce_cache (last_touch);

CREATE TABLE operations (
  commit_sequence INTEGER PRIMARY KEY,
  origin TEXT NOT NULL,
  origin_seq INTEGER NOT NULL,
  hlc TEXT NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  subject TEXT NOT NULL,
  seen TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  payload TEXT,
  rid INTEGER,
  parked TEXT,
  head_signature TEXT
);
CREATE UNIQUE INDEX operations_origin ON operations (origin, origin_seq);
CREATE INDEX operations_subject ON operations (subject);
CREATE INDEX operations_parked ON operations (commit_sequence) WHERE parked IS NOT NULL;
CREATE INDEX operations_signed ON operations (origin, origin_seq) WHERE head_signature IS NOT NULL;

-- scope: of the peer that the origin belongs to, as JSON, when its last operation came; NULL where that was not noted.
CREATE TABLE origins (
  origin TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  head TEXT NOT NULL,
  hlc TEXT NOT NULL,
  scope TEXT
) WITHOUT ROWID;

CREATE TABLE log_state (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  peer_id TEXT NOT NULL,
  db_epoch TEXT NOT NULL,
  commit_sequence INTEGER NOT NULL,
  origin_seq INTEGER NOT NULL,
  chain_head TEXT NOT NULL,
  hlc TEXT NOT NULL
);
CREATE TABLE db_epochs (
  db_epoch TEXT PRIMARY KEY,
  peer_id TEXT NOT NULL,
  first_commit_sequence INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  reason TEXT NOT NULL
);

CREATE TABLE peer_progress (
  peer_id TEXT PRIMARY KEY,
  origin TEXT NOT NULL,
  acked INTEGER NOT NULL,
  owed_to INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  cause TEXT,
  first_failed_at_ms INTEGER,
  last_failed_at_ms INTEGER,
  next_try_at_ms INTEGER,
  version TEXT
);
CREATE TABLE peer_parked (
  peer_id TEXT NOT NULL,
  origin TEXT NOT NULL,
  seq INTEGER NOT NULL,
  reason TEXT NOT NULL,
  noted_at_ms INTEGER NOT NULL,
  PRIMARY KEY (peer_id, origin, seq)
) WITHOUT ROWID;

-- What was last found out about the state of the rows; local.
CREATE TABLE integrity_notes (
  name TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  facts TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE database_owner (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  holder TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('daemon', 'mcp')),
  fencing INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
);
`;

/** An index, a trigger or the full-text table: SQLite can build it again from the rows. */
export interface DerivedObject {
  readonly name: string;
  /** The statement that creates it. */
  readonly sql: string;
}

/** The derived objects of the schema, in its order. */
export const DERIVED_OBJECTS: readonly DerivedObject[] = [
  ...SCHEMA.matchAll(
    /^CREATE (?:(?:UNIQUE )?INDEX (\w+)[^;]*;|TRIGGER (\w+)[\s\S]*?^END;|VIRTUAL TABLE (\w+)[^;]*;)$/gm,
  ),
].map(([sql, index, trigger, table]) => ({ name: (index ?? trigger ?? table)!, sql }));
