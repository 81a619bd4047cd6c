import { chargedBytes, holderOf, quotaHolder } from '../../protocol/identity/quota.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { Connection } from './connection.js';
import type { ChargedRow, QuotaLedger } from './quota-ledger.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { Statements } from './statements.js';
import { upsert } from './upsert.js';

/** Recounts sums over rows, and stores notes on their state. */
export class RowRepair {
  private readonly texts: Statements;

  constructor(
    db: Connection,
    private readonly quotas: QuotaLedger,
    private readonly kinds: Kinds,
  ) {
    this.texts = new Statements(db);
  }

  /** Stores a finding. */
  note(name: string, facts: Readonly<Record<string, unknown>>, now: string): void {
    this.texts
      .get(upsert('integrity_notes', ['name'], ['name', 'at', 'facts']))
      .run(name, now, JSON.stringify(facts));
  }

  /** Sums up the quota use of the rows in a namespace. */
  recountQuotas(namespace: string, now: string): void {
    this.quotas.recount(namespace, this.charged(namespace), now);
  }

  private *charged(namespace: string): Generator<ChargedRow> {
    for (const memory of this.owned(namespace)) {
      const holder = holderOf(memory);
      if (holder !== null) yield { holder, bytes: chargedBytes(memory) };
    }
    const of = JSON.stringify(this.kinds.all.filter(({ charged }) => charged).map(({ name }) => name));
    const records = this.texts
      .get(
        `SELECT owner_id AS owner, octet_length(payload) AS bytes FROM records
         WHERE kind IN (SELECT value FROM json_each(?)) AND namespace = ? AND owner_id IS NOT NULL`,
      )
      .iterate(of, namespace) as IterableIterator<{ readonly owner: string; readonly bytes: number }>;
    for (const { owner, bytes } of records) yield { holder: quotaHolder(owner), bytes };
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
