import type { Connection } from './connection.js';
import { Statements } from './statements.js';

/**
 * Subjects whose rows were found damaged and wait for their repair. Local to this node: what its disk did concerns no
 * other.
 */
export class Suspects {
  private readonly texts: Statements;

  constructor(db: Connection) {
    this.texts = new Statements(db);
  }

  /** Marks a subject; answers since when it is marked. */
  note(subject: string, now: string): string {
    this.texts.get('INSERT OR IGNORE INTO suspects (subject, noted_at) VALUES (?, ?)').run(subject, now);
    const row = this.texts.get('SELECT noted_at FROM suspects WHERE subject = ?').get(subject);
    return (row as { noted_at: string }).noted_at;
  }

  drop(subject: string): void {
    this.texts.get('DELETE FROM suspects WHERE subject = ?').run(subject);
  }
}

/** The clause that leaves suspects out of a sweep over `memories m`: one of them would fail the whole sweep. */
export const NO_SUSPECT = 'm.id NOT IN (SELECT subject FROM suspects)';
