import type { Kind } from '../../../protocol/kinds/kind.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import type { Connection } from '../connection.js';
import type { Digests } from '../digests.js';
import type { QuotaLedger } from '../quota-ledger.js';
import { type HeaderHashes, Stamps } from '../stamps.js';
import { LinkTable, linkPages } from './link-table.js';
import { memoryPages } from './memory-pages.js';
import { MemoryTable } from './memory-table.js';
import { RecordTable, recordPages } from './record-table.js';
import type { SubjectPages, SubjectTable } from './subject-table.js';
import { Tombstones } from './tombstones.js';

/** The tables of all kinds of a list, for the writer. */
export class SubjectTables {
  readonly memories: MemoryTable;
  readonly tombstones: Tombstones;
  readonly stamps: Stamps;
  private readonly byKind: ReadonlyMap<string, SubjectTable>;

  constructor(
    db: Connection,
    readonly kinds: Kinds,
    quotas: QuotaLedger,
    digests: Digests,
    log: HeaderHashes,
  ) {
    const stamps = new Stamps(db, log);
    this.stamps = stamps;
    const memories = new MemoryTable(db, quotas, digests, stamps);
    const tableOf = (kind: Kind): SubjectTable => {
      if (kind.table === 'memories') return memories;
      if (kind.table === 'memory_links') return new LinkTable(db, digests, stamps);
      return new RecordTable(kind, quotas, db, digests, stamps);
    };
    this.memories = memories;
    this.tombstones = new Tombstones(db, stamps);
    this.byKind = new Map(kinds.all.map((kind) => [kind.name, tableOf(kind)]));
  }

  of(kind: string): SubjectTable {
    const table = this.byKind.get(kind);
    if (table === undefined) throw new Error(`kind "${kind}" has no table`);
    return table;
  }

  records(kind: string): RecordTable {
    const table = this.of(kind);
    if (!(table instanceof RecordTable)) throw new Error(`kind "${kind}" is not kept in records`);
    return table;
  }
}

/** The rows of all kinds of a list, for readers. */
export class KindPages {
  private readonly byKind: ReadonlyMap<string, SubjectPages>;

  constructor(readonly kinds: Kinds) {
    const pagesOf = (kind: Kind): SubjectPages => {
      if (kind.table === 'memories') return memoryPages;
      return kind.table === 'memory_links' ? linkPages : recordPages(kind);
    };
    this.byKind = new Map(kinds.all.map((kind) => [kind.name, pagesOf(kind)]));
  }

  /** Null for a kind that this release does not know. */
  of(kind: string): SubjectPages | null {
    return this.byKind.get(kind) ?? null;
  }
}
