import type { Instant } from '../../protocol/base/meanings.js';
import type { Connection } from './connection.js';

/** A value of a key, as JSON keeps it: bytes as an object. */
export type KeyPart = number | string | { readonly hex: string };

/** How far the copy of another database into this one has come. */
export interface UnfinishedCopy {
  /** What the source was when the copy began; another source, or a changed one, cannot go on. */
  readonly source: string;
  /** The table that is being copied, and the key of its last row that is here; null before its first one. */
  readonly table: string;
  readonly after: readonly KeyPart[] | null;
}

/** The name of the note about it. No log begins in a database that has one. */
const NAME = 'unfinished-copy';

/** The copy that a database waits for; null where none is unfinished. */
export function unfinishedCopy(db: Connection): UnfinishedCopy | null {
  const facts = db
    .prepare<[string], string>('SELECT facts FROM integrity_notes WHERE name = ?')
    .pluck()
    .get(NAME);
  return facts === undefined ? null : (JSON.parse(facts) as UnfinishedCopy);
}

/** Notes how far it has come; null when it is done. Inside the caller's transaction. */
export function noteCopy(db: Connection, copy: UnfinishedCopy | null, now: Instant): void {
  if (copy === null) {
    db.prepare('DELETE FROM integrity_notes WHERE name = ?').run(NAME);
    return;
  }
  db.prepare(
    `INSERT INTO integrity_notes (name, at, facts) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET at = excluded.at, facts = excluded.facts`,
  ).run(NAME, now, JSON.stringify(copy));
}

/** The condition of a table's rows that come from the source. */
export const copiedRows = (table: string): string =>
  table === 'integrity_notes' ? `name <> '${NAME}'` : 'TRUE';
