import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import type { Dice } from './dice.js';

/** What a disk can lose of a database without the database noticing. */
export const DAMAGES = [
  'row lost',
  'row changed',
  'digest changed',
  'payload changed',
  'payload lost',
] as const;
export type Damage = (typeof DAMAGES)[number];

/** Memories of which a disk has changed the row, or lost something of the log. */
export class Wounds {
  readonly rows = new Set<string>();
  readonly logs = new Set<string>();
}

/**
 * Spoils something small on a disk; answers what, or null when there was nothing to spoil. `spare` tells the operations
 * of which somebody else has a copy: only these may be spoiled, for what one disk alone has nobody can give back. Nor
 * are row and log of one memory: then the row is all that the node knows, and is built on (docs/decisions.md).
 */
export function spoil(
  db: SqliteConnection,
  dice: Dice,
  damage: Damage,
  wounds: Wounds,
  spare: (operation: string) => boolean,
): string | null {
  switch (damage) {
    case 'row lost': {
      const id = anyOf(dice, db, 'SELECT id FROM memories ORDER BY id');
      return id === null ? null : changed(db, 'DELETE FROM memories WHERE id = ?', id);
    }
    case 'row changed': {
      const ids = db.prepare('SELECT id FROM memories ORDER BY id').pluck().all() as string[];
      const whole = ids.filter((id) => !wounds.logs.has(id));
      if (whole.length === 0) return null;
      const id = dice.pick(whole);
      wounds.rows.add(id);
      return changed(db, "UPDATE memories SET content = content || '~' WHERE id = ?", id);
    }
    case 'digest changed': {
      const name = anyOf(dice, db, "SELECT kind || ' ' || namespace FROM namespace_digests ORDER BY 1");
      const sql = "UPDATE namespace_digests SET digest = zeroblob(32) WHERE kind || ' ' || namespace = ?";
      return name === null ? null : changed(db, sql, name);
    }
    case 'payload changed':
    case 'payload lost': {
      const operations = db
        .prepare(
          "SELECT origin || '/' || origin_seq AS id, subject FROM operations WHERE payload IS NOT NULL ORDER BY 1",
        )
        .all() as { id: string; subject: string }[];
      const spared = operations.filter(({ id, subject }) => spare(id) && !wounds.rows.has(subject));
      if (spared.length === 0) return null;
      const { id, subject } = dice.pick(spared);
      wounds.logs.add(subject);
      const payload = damage === 'payload lost' ? 'NULL' : "replace(payload, '\"', '''')";
      const sql = `UPDATE operations SET payload = ${payload} WHERE origin || '/' || origin_seq = ?`;
      return changed(db, sql, id);
    }
  }
}

function anyOf(dice: Dice, db: SqliteConnection, sql: string): string | null {
  const ids = db.prepare(sql).pluck().all() as string[];
  return ids.length === 0 ? null : dice.pick(ids);
}

function changed(db: SqliteConnection, sql: string, id: string): string {
  db.prepare(sql).run(id);
  return id;
}
