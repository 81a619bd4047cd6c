import { indexedText } from '../../protocol/ranking/index-text.js';
import { TEXT_INDEX_ROW, TEXT_INDEX_TABLE } from '../sql/text-index.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** Indexes all rows again at once; the full-text table is empty. Answers the number of rows. */
export function indexAllTexts(db: SqliteConnection): number {
  db.function('indexed_text', { deterministic: true, directOnly: true }, (text: unknown) =>
    indexedText(String(text)),
  );
  const { changes } = db
    .prepare(
      `INSERT INTO memories_fts (rowid, title, content, tags, nst)
       SELECT rid, indexed_text(title), indexed_text(content), indexed_text(tags), 'n' || ns_id
       FROM memories NOT INDEXED`,
    )
    .run();
  db.exec(`${TEXT_INDEX_TABLE} ${TEXT_INDEX_ROW}`);
  return changes;
}
