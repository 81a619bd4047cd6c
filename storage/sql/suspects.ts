import type { Subject } from '../../protocol/kinds/kind.js';
import type { Connection } from './connection.js';
import { Statements } from './statements.js';

/**
 * Subjects whose rows were found damaged and wait for their repair. Local to this node: damage to its disk does not
 * affect other nodes.
 */
export class Suspects {
  private readonly texts: Statements;

  constructor(db: Connection) {
    this.texts = new Statements(db);
  }

  /** Marks a subject; answers the time of its first mark. */
  note({ kind, id }: Subject, now: string): string {
    this.texts
      .get('INSERT INTO suspects (kind, id, noted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
      .run(kind, id, now);
    const row = this.texts.get('SELECT noted_at FROM suspects WHERE kind = ? AND id = ?').get(kind, id);
    return (row as { noted_at: string }).noted_at;
  }

  drop({ kind, id }: Subject): void {
    this.texts.get('DELETE FROM suspects WHERE kind = ? AND id = ?').run(kind, id);
  }
}

/** Ids of suspect memories: one of them would make a whole sweep fail. */
export const SUSPECT_MEMORIES = "SELECT id FROM suspects WHERE kind = 'memory'";

/** The clause that leaves suspects out of a sweep over `memories m`. */
export const NO_SUSPECT = `m.id NOT IN (${SUSPECT_MEMORIES})`;
