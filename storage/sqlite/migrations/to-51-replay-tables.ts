import type { MigrationStep } from './step.js';

/** Peer nonces and the de-duplication of transcript lines survive a restart (interface §9.5). */
export const to51: MigrationStep = {
  to: 51,
  apply(db) {
    db.exec(`
      CREATE TABLE federation_nonce_cache (
        peer_id TEXT NOT NULL,
        fingerprint BLOB NOT NULL,
        last_touch INTEGER NOT NULL,
        inserted_at TEXT NOT NULL,
        PRIMARY KEY (peer_id, fingerprint)
      ) WITHOUT ROWID;
      CREATE INDEX federation_nonce_cache_peer ON federation_nonce_cache (peer_id, last_touch);
      CREATE INDEX federation_nonce_cache_touch ON federation_nonce_cache (last_touch);

      CREATE TABLE transcript_line_dedup (
        sha256 TEXT PRIMARY KEY,
        memory_id TEXT NOT NULL,
        host_kind TEXT NOT NULL,
        transcript_path TEXT,
        host_session_id TEXT NOT NULL,
        host_turn_index INTEGER NOT NULL,
        recovered_at TEXT NOT NULL,
        UNIQUE (host_session_id, host_turn_index)
      ) WITHOUT ROWID;
    `);
  },
};
