import type { MigrationStep } from './step.js';
import { moveRows, setAside } from './tables.js';

/** Quotas are kept for each agent and namespace; rows from before belong to `_global` (interface §2.9). */
export const to52: MigrationStep = {
  to: 52,
  apply(db) {
    setAside(db, 'agent_quotas');
    db.exec(`
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
        PRIMARY KEY (agent_id, namespace)
      ) WITHOUT ROWID;
    `);
    moveRows(db, 'agent_quotas', { namespace: "'_global'" });
  },
};
