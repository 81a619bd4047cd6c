import type { Crypto } from '../../../protocol/base/seams.js';
import type { Row, RowStamp } from '../../../protocol/decide/rows.js';
import type { Settled } from '../../../protocol/kinds/version.js';
import type { WireOperation } from '../../../protocol/log/wire-operation.js';
import type { StoredSubject } from '../../../protocol/replication/reads.js';
import type { ScrubPage } from '../../../protocol/replication/repair-queries.js';
import type { Statements } from '../statements.js';

/** A subject and the namespace whose digest counts its row. */
export interface Place {
  readonly id: string;
  readonly namespace: string;
}

/** An image in the form of its table, with its canonical text and the stamps of the row. */
export interface Written {
  readonly image: object;
  readonly text: string;
  readonly stamp: RowStamp;
}

/** The parts of a memory's row that a replacement changes; other kinds ignore this. */
export interface Replacement {
  /** False when only tier, expiry, date, version and stamps change; absent when the table must find out. */
  readonly reindex?: boolean;
  /** True when the embedded text changed, so its vectors are stale. */
  readonly reembed?: boolean;
  readonly lifeAt?: string;
}

/**
 * The rows of one kind, for the writer. The table keeps the digests; the caller keeps the log, tombstones and siblings.
 * All members except `stored`, `insert` and `erase` throw DamagedRowError for a row that cannot be read or does not
 * match what was written.
 */
export interface SubjectTable {
  row(id: string): Row | null;
  /** The row in any state, also damaged. */
  stored(id: string): Pick<StoredSubject, 'exists' | 'row' | 'counted' | 'whole'>;
  /** The image in the form of its table, with the members that the writing operation sets. */
  stamped(image: object, word: string, stamp: RowStamp): object;
  /** The image of a version, with the local members of the former row. */
  ofVersion(settled: Settled & { readonly image: object }, before: object | null): object;
  /** Inserts a row; answers its row number when the log records it. */
  insert(place: Place, written: Written, now: string): number | null;
  replace(before: Row, place: Place, written: Written, how: Replacement, now: string): number | null;
  remove(before: Row, now: string): number | null;
  /** Removes a row that may be damaged, and everything attached to it except the bytes that its holder is charged. */
  erase(id: string): void;
  /** Keeps a copy of a removed image, for kinds that have an archive. */
  keepCopy(image: object, reason: string, stamp: RowStamp, now: string): void;
  /** Restores the contents of the archived copy to a subject that lives again. */
  takeBack(image: object, rid: number | null): void;
}

/** The rows of one kind, for readers. */
export interface SubjectPages {
  /** Subject and digest of all rows in `@namespace`. */
  readonly digestsSql: string;
  exists(statements: Statements, id: string): boolean;
  /** Rows after a position, each compared with its digest and with the operation that wrote it. */
  scrub(
    statements: Statements,
    crypto: Crypto,
    page: { readonly after: string | null; readonly limit: number },
  ): ScrubPage<string>;
  /** The text of the row that exactly this operation made, while it is current; null otherwise. */
  textOf(statements: Statements, operation: WireOperation): string | null;
}
