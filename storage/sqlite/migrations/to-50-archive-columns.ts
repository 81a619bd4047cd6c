import type { MigrationStep } from './step.js';
import { moveRows, setAside } from './tables.js';

/**
 * Archived memories get the full set of memory columns, their embedding, and the tier and expiry that a restore applies
 * again (interface §2.8). Existing rows were copied with their tier and expiry, so those are the original values.
 */
export const to50: MigrationStep = {
  to: 50,
  apply(db) {
    setAside(db, 'archived_memories');
    db.exec(`
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
        reflection_depth INTEGER DEFAULT 0,
        memory_kind TEXT DEFAULT 'observation',
        atomised_into INTEGER,
        atom_of TEXT,
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
        archived_at TEXT NOT NULL,
        archive_reason TEXT NOT NULL,
        embedding BLOB,
        embedding_dim INTEGER,
        original_tier TEXT,
        original_expires_at TEXT
      );
      CREATE INDEX archived_memories_archived_at ON archived_memories (archived_at);
    `);
    moveRows(db, 'archived_memories', { original_tier: 'tier', original_expires_at: 'expires_at' });
  },
};
