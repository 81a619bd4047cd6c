/**
 * Databases as older releases left them, made from nothing: version 49 with rows of every awkward kind, and the later
 * versions by applying the product's own steps. Run it to have them as files:
 *
 *   node <build>/test/storage/older-databases.js [directory, default fixtures/databases]
 */

import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { verifyEd25519 } from '../../node/verify-ed25519.js';
import type { Crypto } from '../../protocol/base/seams.js';
import type { OpenOptions } from '../../storage/sqlite/file-schema.js';
import { MIGRATION_STEPS } from '../../storage/sqlite/migrations/migrate.js';
import { olderInstant } from '../../storage/sqlite/migrations/older-values.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { OLDER_ARCHIVED, OLDER_MEMORIES, PLAIN, type Row, uuid } from './older-memories.js';

/** Links in every older database. */
export const OLDER_LINKS = 3;

/** Standards of namespaces in every older database. */
export const OLDER_STANDARDS = 1;

export const OLDER_VERSIONS = [49, 50, 51, 52, 53, 54] as const;

/** When the fixtures were "upgraded" to their version. */
const FIXTURE_NOW_MS = Date.UTC(2026, 1, 1);

export const nodeCrypto: Crypto = {
  sha256Hex: (data) => createHash('sha256').update(data).digest('hex'),
  sha256: (data) => createHash('sha256').update(data).digest(),
  verify: verifyEd25519,
};

export function openOptions(path: string, nowMs: number, freshEpoch = '00112233445566ff'): OpenOptions {
  return {
    path,
    identity: { peerId: 'peer-a' },
    nowMs,
    crypto: nodeCrypto,
    freshEpoch,
    busyTimeoutMs: 5000,
    synchronous: 'OFF',
  };
}

const SCHEMA_49 = `
CREATE TABLE schema_version (version INTEGER NOT NULL, applied_at TEXT NOT NULL);
INSERT INTO schema_version VALUES (48, '2025-11-02T10:00:00+00:00'), (49, '2025-12-02T10:00:00.123456+00:00');

CREATE TABLE memories (
  id TEXT PRIMARY KEY,
  tier TEXT NOT NULL CHECK (tier IN ('short', 'mid', 'long')),
  namespace TEXT NOT NULL DEFAULT 'global',
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  tags TEXT DEFAULT '[]',
  priority INTEGER DEFAULT 5,
  confidence REAL DEFAULT 1.0,
  source TEXT DEFAULT 'api',
  access_count INTEGER DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  last_accessed_at TEXT,
  expires_at TEXT,
  metadata TEXT DEFAULT '{}',
  embedding BLOB,
  embedding_dim INTEGER,
  reflection_depth INTEGER DEFAULT 0,
  memory_kind TEXT DEFAULT 'observation',
  atomised_into INTEGER,
  atom_of TEXT REFERENCES memories (id) ON DELETE SET NULL,
  entity_id TEXT,
  persona_version INTEGER,
  citations TEXT DEFAULT '[]',
  source_uri TEXT,
  source_span TEXT,
  confidence_source TEXT DEFAULT 'caller_provided',
  confidence_signals TEXT,
  confidence_decayed_at TEXT,
  mentioned_entity_id TEXT,
  encrypted_envelope BLOB,
  version INTEGER DEFAULT 1,
  scope_idx TEXT GENERATED ALWAYS AS (CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.scope') END) VIRTUAL,
  agent_id_idx TEXT GENERATED ALWAYS AS (CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.agent_id') END) VIRTUAL,
  UNIQUE (title, namespace)
);
CREATE INDEX idx_memories_tier ON memories (tier);
CREATE INDEX idx_memories_namespace ON memories (namespace);
CREATE INDEX idx_memories_priority ON memories (priority DESC);
CREATE INDEX idx_memories_expires ON memories (expires_at);
CREATE INDEX idx_memories_created ON memories (created_at);
CREATE INDEX idx_memories_kind ON memories (memory_kind);
CREATE INDEX idx_memories_agent ON memories (agent_id_idx);
CREATE INDEX memories_source_uri ON memories (source_uri) WHERE source_uri IS NOT NULL;

CREATE VIRTUAL TABLE memories_fts USING fts5 (title, content, tags, content = 'memories', content_rowid = 'rowid');
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, title, content, tags)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags);
END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, title, content, tags)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags);
  INSERT INTO memories_fts (rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;

CREATE TABLE memory_links (
  source_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
  target_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
  relation TEXT NOT NULL CHECK (relation IN
    ('related_to', 'supersedes', 'contradicts', 'derived_from', 'reflects_on', 'derives_from')),
  created_at TEXT NOT NULL,
  valid_from TEXT,
  valid_until TEXT,
  observed_by TEXT,
  signature BLOB,
  attest_level TEXT DEFAULT 'unsigned',
  PRIMARY KEY (source_id, target_id, relation)
);
CREATE INDEX idx_links_target ON memory_links (target_id);

CREATE TABLE archived_memories (
  id TEXT PRIMARY KEY,
  tier TEXT NOT NULL,
  namespace TEXT NOT NULL,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  tags TEXT DEFAULT '[]',
  priority INTEGER DEFAULT 5,
  confidence REAL DEFAULT 1.0,
  source TEXT DEFAULT 'api',
  access_count INTEGER DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  last_accessed_at TEXT,
  expires_at TEXT,
  metadata TEXT DEFAULT '{}',
  archived_at TEXT NOT NULL,
  archive_reason TEXT NOT NULL
);
CREATE INDEX idx_archived_namespace ON archived_memories (namespace);

CREATE TABLE namespace_meta (namespace TEXT PRIMARY KEY, standard_id TEXT, updated_at TEXT NOT NULL, parent_namespace TEXT);
CREATE TABLE agent_quotas (
  agent_id TEXT PRIMARY KEY,
  max_memories_per_day INTEGER NOT NULL,
  max_storage_bytes INTEGER NOT NULL,
  max_links_per_day INTEGER NOT NULL,
  current_memories_today INTEGER NOT NULL DEFAULT 0,
  current_storage_bytes INTEGER NOT NULL DEFAULT 0,
  current_links_today INTEGER NOT NULL DEFAULT 0,
  day_started_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE TABLE pending_actions (
  id TEXT PRIMARY KEY, action_type TEXT NOT NULL, namespace TEXT NOT NULL, memory_id TEXT, payload TEXT NOT NULL,
  requested_by TEXT NOT NULL, requested_at TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending',
  approvals TEXT NOT NULL DEFAULT '[]', decided_by TEXT, decided_at TEXT, default_timeout_seconds INTEGER, expired_at TEXT
);
CREATE INDEX idx_pending_status ON pending_actions (status);
CREATE TABLE sync_state (
  agent_id TEXT NOT NULL, peer_id TEXT NOT NULL, last_seen_at TEXT NOT NULL, last_pulled_at TEXT, last_pushed_at TEXT,
  PRIMARY KEY (agent_id, peer_id)
);
CREATE TABLE subscriptions (
  id TEXT PRIMARY KEY, url TEXT NOT NULL, events TEXT NOT NULL DEFAULT '*', secret_hash TEXT, namespace_filter TEXT,
  agent_filter TEXT, created_by TEXT, created_at TEXT NOT NULL, last_dispatched_at TEXT,
  dispatch_count INTEGER NOT NULL DEFAULT 0, failure_count INTEGER NOT NULL DEFAULT 0, event_types TEXT
);
CREATE TABLE subscription_events (
  id TEXT PRIMARY KEY, subscription_id TEXT NOT NULL REFERENCES subscriptions (id), correlation_id TEXT NOT NULL,
  event_type TEXT NOT NULL, payload TEXT NOT NULL, delivered_at TEXT NOT NULL, delivery_status TEXT NOT NULL
);
CREATE INDEX subscription_events_history ON subscription_events (subscription_id, delivered_at);
CREATE TABLE subscription_dlq (
  id INTEGER PRIMARY KEY, subscription_id TEXT NOT NULL, correlation_id TEXT NOT NULL, event_type TEXT NOT NULL,
  payload TEXT NOT NULL, retry_count INTEGER NOT NULL, last_error TEXT NOT NULL, first_failed_at TEXT NOT NULL,
  last_failed_at TEXT NOT NULL
);
CREATE TABLE entity_aliases (
  entity_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
  alias TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (entity_id, alias)
);
CREATE INDEX idx_aliases_alias ON entity_aliases (alias);
CREATE TABLE signed_events (
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, event_type TEXT NOT NULL, payload_hash BLOB NOT NULL, signature BLOB,
  attest_level TEXT NOT NULL, timestamp TEXT NOT NULL, prev_hash BLOB NOT NULL, sequence INTEGER NOT NULL UNIQUE
);
CREATE TABLE recall_observations (
  recall_id TEXT NOT NULL, memory_id TEXT NOT NULL, retriever TEXT NOT NULL, rank INTEGER NOT NULL, score REAL NOT NULL,
  consumed INTEGER NOT NULL DEFAULT 0, observed_at TEXT NOT NULL, consumed_at TEXT, consumed_by_memory_id TEXT,
  PRIMARY KEY (recall_id, memory_id)
);
`;

/** Tables of version 49 that an upgrade to 55 leaves exactly as they are, unless 55 names them meanwhile. */
export const SURVIVING_TABLES = ['entity_aliases', 'pending_actions', 'sync_state'] as const;

/** Inserts a row given as an object. */
export function insert(db: SqliteConnection, table: string, row: Row): void {
  const columns = Object.keys(row);
  db.prepare(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  ).run(...Object.values(row));
}

function fill49(db: SqliteConnection): void {
  for (const { row } of OLDER_MEMORIES) insert(db, 'memories', row);
  // A gap in the row numbers, and an index that has been written again.
  insert(db, 'memories', { ...PLAIN, id: uuid(800), title: 'to be deleted' });
  db.prepare('DELETE FROM memories WHERE id = ?').run(uuid(800));
  db.prepare('UPDATE memories SET access_count = access_count WHERE id = ?').run(uuid(1));
  for (const row of OLDER_ARCHIVED) insert(db, 'archived_memories', row);
  const link = {
    source_id: uuid(1),
    target_id: uuid(2),
    relation: 'related_to',
    created_at: '2026-01-02T03:04:05+00:00',
  };
  insert(db, 'memory_links', { ...link, valid_from: '2026-01-02T03:04:05+00:00', attest_level: null });
  insert(db, 'memory_links', {
    ...link,
    relation: 'supersedes',
    valid_from: '2026-01-02T03:04:05+00:00',
    valid_until: '2026-02-02T03:04:05+00:00',
    observed_by: 'alice',
    signature: Buffer.alloc(64, 7),
    attest_level: 'self_signed',
  });
  insert(db, 'memory_links', { ...link, target_id: uuid(999), relation: 'derived_from' });
  insert(db, 'namespace_meta', {
    namespace: 'team',
    standard_id: uuid(1),
    updated_at: '2026-01-02 00:00:00',
  });
  insert(db, 'agent_quotas', {
    agent_id: 'alice',
    max_memories_per_day: 1000,
    max_storage_bytes: 104_857_600,
    max_links_per_day: 5000,
    current_memories_today: 41,
    current_storage_bytes: 12_345,
    current_links_today: 3,
    day_started_at: '2026-01-02T00:00:00+00:00',
    created_at: '2025-12-01T00:00:00+00:00',
    updated_at: '2026-01-02T01:00:00+00:00',
  });
  insert(db, 'pending_actions', {
    id: uuid(700),
    action_type: 'store',
    namespace: 'team',
    payload: '{"title":"x"}',
    requested_by: 'bob',
    requested_at: '2026-01-02T00:00:00+00:00',
  });
  insert(db, 'sync_state', { agent_id: 'a', peer_id: 'b', last_seen_at: '2026-01-02T00:00:00+00:00' });
  insert(db, 'subscriptions', {
    id: uuid(701),
    url: 'https://example.test/',
    created_at: '2026-01-02 00:00:00',
  });
  const event = { correlation_id: uuid(703), event_type: 'memory_store', payload: '{}' };
  insert(db, 'subscription_events', {
    ...event,
    ...{ id: uuid(704), subscription_id: uuid(701), delivery_status: 'pending' },
    delivered_at: '2026-01-02T00:00:00+00:00',
  });
  // Of a subscription that is gone.
  insert(db, 'subscription_dlq', {
    ...event,
    ...{ subscription_id: uuid(705), retry_count: 4, last_error: 'network' },
    ...{ first_failed_at: '2026-01-02T00:00:00+00:00', last_failed_at: '2026-01-02T00:00:06+00:00' },
  });
  insert(db, 'entity_aliases', { entity_id: uuid(1), alias: 'Łódź', created_at: '2026-01-02 00:00:00' });
  insert(db, 'entity_aliases', {
    entity_id: uuid(998),
    alias: 'of nobody',
    created_at: '2026-01-02 00:00:00',
  });
  insert(db, 'signed_events', {
    id: uuid(702),
    agent_id: 'alice',
    event_type: 'memory.stored',
    payload_hash: Buffer.alloc(32, 1),
    attest_level: 'unsigned',
    timestamp: '2026-01-02T00:00:00+00:00',
    prev_hash: Buffer.alloc(32),
    sequence: 1,
  });
  const recalled = { retriever: 'hybrid', observed_at: '2026-01-02T03:04:05+00:00' };
  const consumed = { consumed: 1, consumed_at: '2026-01-02T03:05:00+00:00', consumed_by_memory_id: uuid(3) };
  // Not in the order of their ranks, and the newer recall first.
  insert(db, 'recall_observations', {
    ...recalled,
    ...{ recall_id: 'later', memory_id: uuid(1), rank: 1, score: 0.25, observed_at: '2026-01-03T00:00:00Z' },
  });
  for (const [rank, score] of [
    [2, 0.5],
    [1, 0.875],
    [3, 0.125],
  ] as const) {
    insert(db, 'recall_observations', {
      ...recalled,
      ...consumed,
      ...{ recall_id: 'earlier', memory_id: uuid(rank), rank, score },
    });
  }
}

/** What only a later version can hold. */
const ROWS_OF_VERSION: Readonly<Record<number, (db: SqliteConnection) => void>> = {
  50: (db) =>
    insert(db, 'archived_memories', {
      ...PLAIN,
      id: uuid(903),
      title: 'Archived with everything',
      source_uri: 'doc:1',
      version: 4,
      embedding: Buffer.alloc(1536, 1),
      embedding_dim: 384,
      archived_at: '2026-01-20T00:00:00.000Z',
      archive_reason: 'delete',
      original_tier: 'mid',
      original_expires_at: '2026-01-21T00:00:00+00:00',
    }),
  51: (db) => {
    insert(db, 'federation_nonce_cache', {
      peer_id: 'peer-b',
      fingerprint: Buffer.alloc(32, 9),
      last_touch: 1_767_323_045,
      inserted_at: '2026-01-02T03:04:05+00:00',
    });
    insert(db, 'transcript_line_dedup', {
      sha256: 'ab'.repeat(32),
      memory_id: uuid(1),
      host_kind: 'shell',
      host_session_id: 's1',
      host_turn_index: 4,
      recovered_at: '2026-01-02T03:04:05+00:00',
    });
  },
  52: (db) =>
    insert(db, 'agent_quotas', {
      agent_id: 'alice',
      namespace: 'team',
      max_memories_per_day: 10,
      max_storage_bytes: 20,
      max_links_per_day: 30,
      day_started_at: '2026-01-02T00:00:00.000Z',
      created_at: '2026-01-02T00:00:00.000Z',
      updated_at: '2026-01-02T00:00:00.000Z',
    }),
};

/** Creates a database of an older version at a path, or in memory; `extraMemories` more rows make it slower. */
export function makeOlderDatabase(
  path: string,
  version: number,
  { extraMemories = 0, journalMode = 'wal' }: { extraMemories?: number; journalMode?: string } = {},
): SqliteConnection {
  const db = openSqlite(path);
  db.pragma(`journal_mode = ${journalMode}`);
  db.pragma('synchronous = OFF');
  db.pragma('foreign_keys = OFF');
  db.pragma('legacy_alter_table = ON');
  db.function('older_instant', { deterministic: true, directOnly: true }, olderInstant);
  db.transaction(() => {
    db.exec(SCHEMA_49);
    fill49(db);
    for (let n = 0; n < extraMemories; n += 1) {
      insert(db, 'memories', {
        ...PLAIN,
        id: uuid(100_000 + n),
        title: `extra ${n}`,
        content: `row ${n} `.repeat(20),
      });
    }
    for (const step of MIGRATION_STEPS) {
      if (step.to > version) break;
      const now = new Date(FIXTURE_NOW_MS).toISOString();
      step.apply(db, { options: openOptions(path, FIXTURE_NOW_MS), from: 49, now });
      insert(db, 'schema_version', { version: step.to, applied_at: now });
      ROWS_OF_VERSION[step.to]?.(db);
    }
  })();
  return db;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const directory = process.argv[2] ?? join('fixtures', 'databases');
  mkdirSync(directory, { recursive: true });
  for (const version of OLDER_VERSIONS) {
    const path = join(directory, `v${version}.db`);
    rmSync(path, { force: true });
    makeOlderDatabase(path, version, { journalMode: 'delete' }).close();
    console.log(path);
  }
}
