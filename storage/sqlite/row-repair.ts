import type { MemoryRow } from '../../protocol/memory.js';
import { TEXT_RANGE_ROWS } from '../../protocol/mesh/scrub-terms.js';
import type { Connection } from './connection.js';
import type { QuotaLedger } from './quota-ledger.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { Statements } from './statements.js';

const boundsOf = (range: number): [number, number] => [
  range * TEXT_RANGE_ROWS,
  (range + 1) * TEXT_RANGE_ROWS - 1,
];

export function rowsOfRange(texts: Statements, range: number): number {
  const rows = texts
    .get('SELECT count(*) AS n FROM memories WHERE rid BETWEEN ? AND ?')
    .get(...boundsOf(range));
  return (rows as { n: number }).n;
}

/** Counts and indexes again what depends on the rows of memories. */
export class RowRepair {
  private readonly texts: Statements;

  constructor(
    db: Connection,
    private readonly quotas: QuotaLedger,
  ) {
    this.texts = new Statements(db);
  }

  /** Indexes the full text of a range of rows again. */
  reindex(range: number): void {
    const bounds = boundsOf(range);
    this.texts.get('DELETE FROM memories_fts WHERE rowid BETWEEN ? AND ?').run(...bounds);
    this.texts
      .get(
        `INSERT INTO memories_fts (rowid, title, content, tags, nst)
         SELECT rid, title, content, tags, 'n' || ns_id FROM memories WHERE rid BETWEEN ? AND ?`,
      )
      .run(...bounds);
  }

  /** Remembers what was found out. */
  note(name: string, facts: Readonly<Record<string, unknown>>, now: string): void {
    this.texts
      .get('INSERT OR REPLACE INTO integrity_notes (name, at, facts) VALUES (?, ?, ?)')
      .run(name, now, JSON.stringify(facts));
  }

  /** Sums up what the rows of a namespace use. */
  recountQuotas(namespace: string, now: string): void {
    this.quotas.recount(namespace, this.owned(namespace), now);
  }

  private *owned(namespace: string): Generator<MemoryRow> {
    const rows = this.texts
      .get(
        `SELECT ${SELECT_ROW} FROM memories m JOIN namespaces n ON n.ns_id = m.ns_id
         WHERE n.name = ? AND m.owner_id IS NOT NULL`,
      )
      .iterate(namespace) as IterableIterator<SqlRow>;
    for (const row of rows) {
      try {
        yield memoryFromSql(row);
      } catch {
        // A damaged row is counted when it is repaired.
      }
    }
  }
}
