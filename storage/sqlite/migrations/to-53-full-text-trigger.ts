import type { MigrationStep } from './step.js';

/** The full-text index is written only when indexed text changes, not at every touch of a row (interface §9.5). */
export const to53: MigrationStep = {
  to: 53,
  apply(db) {
    db.exec(`
      DROP TRIGGER memories_au;
      CREATE TRIGGER memories_au AFTER UPDATE OF title, content, tags ON memories BEGIN
        INSERT INTO memories_fts (memories_fts, rowid, title, content, tags)
          VALUES ('delete', old.rowid, old.title, old.content, old.tags);
        INSERT INTO memories_fts (rowid, title, content, tags)
          VALUES (new.rowid, new.title, new.content, new.tags);
      END;
    `);
  },
};
