import { indexedText, TEXT_RULES } from '../../protocol/ranking/index-text.js';
import type { Connection, TextRow, TextRows } from './connection.js';
import { Statements } from './statements.js';

/** Which rows wait to be indexed again, by present rules. */
export const TEXT_INDEX_TABLE = `
-- Rows up to the number in waiting are indexed by other rules (before) than the present ones, and wait for their turn.
CREATE TABLE IF NOT EXISTS text_index (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  rules INTEGER NOT NULL,
  before INTEGER NOT NULL,
  waiting INTEGER NOT NULL
);`;

/** What the table says about a fresh index. */
export const TEXT_INDEX_ROW = `INSERT INTO text_index (singleton, rules, before, waiting)
  VALUES (1, ${TEXT_RULES}, ${TEXT_RULES}, 0)
  ON CONFLICT (singleton) DO UPDATE SET rules = excluded.rules, before = excluded.before, waiting = 0;`;

interface IndexedColumns {
  readonly title: string;
  readonly content: string;
  /** JSON text. */
  readonly tags: string;
  readonly ns_id: number;
}

const textRowOf = (
  rid: number,
  { title, content, tags, ns_id }: IndexedColumns,
  indexed: (text: string) => string = indexedText,
): TextRow => ({
  ...{ rid, title: indexed(title), content: indexed(content), tags: indexed(tags), nst: `n${ns_id}` },
});

/** How many rows wait to be indexed again. */
export const WAITING_TEXTS =
  'SELECT count(*) AS n FROM memories WHERE rid <= (SELECT waiting FROM text_index)';

/** The full text of the memories. Deleted rows leave it by trigger. */
export class TextIndex {
  private readonly statements: Statements;
  private readonly rows: TextRows;
  private expected: ReadonlyMap<string, string> = new Map();

  constructor(db: Connection) {
    this.statements = new Statements(db);
    this.rows = db.texts;
  }

  /** Tells what the index holds for texts of the next rows, so that it is not found again. */
  expect(known: readonly (readonly [text: string, indexed: string])[]): void {
    if (known.length > 0 || this.expected.size > 0) this.expected = new Map(known);
  }

  add(rid: number, columns: IndexedColumns): void {
    this.rows.insert(textRowOf(rid, columns, this.indexed));
  }

  replace(rid: number, columns: IndexedColumns): void {
    this.rows.replace(textRowOf(rid, columns, this.indexed));
  }

  private readonly indexed = (text: string): string => this.expected.get(text) ?? indexedText(text);

  /**
   * The rows from the newest waiting one down that are indexed together: at most `rows`, and not many more than
   * `characters`. Null when none waits.
   */
  page(rows: number, characters: number): { readonly from: number; readonly to: number } | null {
    const waiting = this.statements.get('SELECT waiting FROM text_index').pluck().get() as number;
    if (waiting === 0) return null;
    const sizes = this.statements
      .get(
        `SELECT rid, length(title) + length(content) + length(tags) AS size FROM memories
         WHERE rid <= ? ORDER BY rid DESC LIMIT ?`,
      )
      .all(waiting, rows) as { rid: number; size: number }[];
    let sum = 0;
    for (const { rid, size } of sizes) {
      sum += size;
      if (sum > characters) return { from: waiting, to: rid };
    }
    return { from: waiting, to: sizes.length < rows ? 1 : (sizes.at(-1)?.rid ?? 1) };
  }

  /** Indexes rows of a page again, and notes that they are done. */
  reindex(from: number, to: number): void {
    const rows = this.statements
      .get(
        'SELECT rid, title, content, tags, ns_id FROM memories WHERE rid BETWEEN ? AND ? ORDER BY rid DESC',
      )
      .all(to, from) as (IndexedColumns & { rid: number })[];
    for (const { rid, ...columns } of rows) {
      this.rows.replace(textRowOf(rid, columns));
    }
    this.statements.get('UPDATE text_index SET waiting = ?').run(to - 1);
  }
}

/** Lets all rows wait when they were indexed by the rules of another release. */
export function expectTextRules(db: Connection): void {
  const other = db.prepare('SELECT 1 FROM text_index WHERE rules <> ?');
  if (other.get(TEXT_RULES) === undefined) return;
  db.prepare(
    `UPDATE text_index SET before = rules, rules = ?, waiting = coalesce((SELECT max(rid) FROM memories), 0)
     WHERE rules <> ?`,
  ).run(TEXT_RULES, TEXT_RULES);
}
