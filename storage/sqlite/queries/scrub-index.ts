import {
  type ScrubAnswers,
  type ScrubIndex,
  type ScrubTable,
  type ScrubTexts,
  TEXT_RANGE_ROWS,
  type TextSum,
} from '../../../protocol/mesh/scrub-terms.js';
import type { Connection } from '../connection.js';
import { indexedTables, indexesAgree } from '../table-indexes.js';

/**
 * Compares the full text with the rows. The index holds no texts, so its words are summed up, order-free, by ranges
 * of rows, and the same rows are indexed once more beside it.
 */

interface Instance {
  readonly term: string;
  readonly doc: number;
  readonly col: string;
  readonly offset: number;
}

const COLUMNS: Readonly<Record<string, number>> = { title: 1, content: 2, tags: 3, nst: 4 };

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Mixes where a word stands into its hash. */
function placed(term: number, { doc, col, offset }: Instance): number {
  let hash = Math.imul(term ^ doc, 0x9e3779b1);
  hash = Math.imul((hash ^ (hash >>> 15) ^ offset) + (COLUMNS[col] ?? 0), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function add(sum: [number, number], hash: number): void {
  sum[0] = (sum[0] + hash) >>> 0;
  sum[1] = (sum[1] ^ Math.imul(hash, 0xc2b2ae35)) >>> 0;
}

/** Runs with tables of this connection's own, which a connection that cannot write the file may have all the same. */
function withScratch<T>(db: Connection, run: () => T): T {
  const readOnly = db.pragma('query_only', { simple: true }) === 1;
  if (readOnly) db.pragma('query_only = OFF');
  try {
    return run();
  } finally {
    if (readOnly) db.pragma('query_only = ON');
  }
}

/** Whether the indexes of the next table agree with it. */
export function scrubTable(db: Connection, { after }: ScrubTable): ScrubAnswers['scrub-table'] {
  const [table, ...more] = indexedTables(db).filter((name) => name > after);
  const damaged = table !== undefined && !indexesAgree(db, table) ? table : null;
  return { damaged, next: more.length > 0 ? (table ?? null) : null };
}

export function scrubIndex(db: Connection, { after, limit }: ScrubIndex): ScrubAnswers['scrub-index'] {
  return withScratch(db, () => {
    db.exec(
      'CREATE VIRTUAL TABLE IF NOT EXISTS temp.scrub_words USING fts5vocab(main, memories_fts, instance)',
    );
    const rows = db
      .prepare(
        `SELECT term, doc, col, "offset" FROM temp.scrub_words ${after === null ? '' : 'WHERE term > ?'} ORDER BY term`,
      )
      .iterate(...(after === null ? [] : [after])) as IterableIterator<Instance>;
    const sums = new Map<number, [number, number]>();
    let term: string | null = null;
    let hash = 0;
    let count = 0;
    let more = false;
    for (const row of rows) {
      if (row.term !== term) {
        if (count >= limit) {
          more = true;
          break;
        }
        term = row.term;
        hash = hashOf(term);
      }
      count += 1;
      const range = Math.floor(row.doc / TEXT_RANGE_ROWS);
      let sum = sums.get(range);
      if (sum === undefined) {
        sum = [0, 0];
        sums.set(range, sum);
      }
      add(sum, placed(hash, row));
    }
    const found: TextSum[] = [...sums].map(([range, sum]) => ({ range, sum }));
    return { sums: found, next: more ? term : null };
  });
}

export function scrubTexts(db: Connection, { range, sums }: ScrubTexts): ScrubAnswers['scrub-texts'] {
  return withScratch(db, () => {
    const bounds = { from: range * TEXT_RANGE_ROWS, to: (range + 1) * TEXT_RANGE_ROWS - 1 };
    const mark = db
      .prepare(
        `SELECT count(*) || ' ' || coalesce(sum(rid), 0) || ' ' || coalesce(max(hlc), '') AS mark,
           (SELECT coalesce(max(rid), 0) FROM memories) AS last
         FROM memories WHERE rid BETWEEN @from AND @to`,
      )
      .get(bounds) as { mark: string; last: number };
    const last = Math.floor(mark.last / TEXT_RANGE_ROWS);
    const sum: [number, number] = [0, 0];
    if (!sums) return { sum, mark: mark.mark, last };
    db.exec(
      `CREATE VIRTUAL TABLE temp.scrub_texts USING fts5 (
         title, content, tags, nst, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
       CREATE VIRTUAL TABLE temp.scrub_text_words USING fts5vocab(temp, scrub_texts, instance);`,
    );
    try {
      db.prepare(
        `INSERT INTO temp.scrub_texts (rowid, title, content, tags, nst)
         SELECT rid, title, content, tags, 'n' || ns_id FROM main.memories WHERE rid BETWEEN @from AND @to`,
      ).run(bounds);
      const words = db.prepare('SELECT term, doc, col, "offset" FROM temp.scrub_text_words');
      for (const row of words.iterate() as IterableIterator<Instance>)
        add(sum, placed(hashOf(row.term), row));
    } finally {
      db.exec('DROP TABLE temp.scrub_text_words; DROP TABLE temp.scrub_texts;');
    }
    return { sum, mark: mark.mark, last };
  });
}
