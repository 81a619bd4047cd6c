import type { StoredSubject } from '../../../protocol/decide/reads.js';
import type { Row, RowStamp } from '../../../protocol/decide/rows.js';
import type { Settled } from '../../../protocol/kinds/version.js';
import type { WireOperation } from '../../../protocol/mesh/wire.js';
import type { ScrubPage } from '../../../protocol/replication/repair-queries.js';
import type { Crypto } from '../../../protocol/seams.js';
import type { Statements } from '../statements.js';

/** A subject with the namespace that its row counts for. */
export interface Place {
  readonly id: string;
  readonly namespace: string;
}

/** An image as a row takes it, with its canonical text and the stamps of the row. */
export interface Written {
  readonly image: object;
  readonly text: string;
  readonly stamp: RowStamp;
}

/** What a replacement of a memory's row leaves as it is; other kinds have nothing to leave. */
export interface Replacement {
  /** False when only tier, expiry, date, version and stamps change; left out where that is to be found out. */
  readonly reindex?: boolean;
  /** True when the embedded text changed, so that its vectors are stale. */
  readonly reembed?: boolean;
  readonly lifeAt?: string;
}

/**
 * The rows of one kind as the writer changes them. Digests are kept by the table; the log, tombstones and siblings are the
 * caller's. A row that cannot be read, or is not what was written, is thrown as DamagedRowError by all but `stored`,
 * `insert` and `erase`.
 */
export interface SubjectTable {
  row(id: string): Row | null;
  /** The row in whatever state it is. */
  stored(id: string): Pick<StoredSubject, 'exists' | 'row' | 'counted' | 'whole'>;
  /** The image as the row takes it, with what follows from the operation that writes it. */
  stamped(image: object, word: string, stamp: RowStamp): object;
  /** The image of a version, with what is local to the row as it was. */
  ofVersion(settled: Settled & { readonly image: object }, before: object | null): object;
  /** Inserts a row; answers its number where the log names it. */
  insert(place: Place, written: Written, now: string): number | null;
  replace(before: Row, place: Place, written: Written, how: Replacement, now: string): number | null;
  remove(before: Row, now: string): number | null;
  /** Takes a row away that may be damaged, and all that hangs on it but the bytes that its holder is charged. */
  erase(id: string): void;
  /** Keeps a copy of a removed image, for kinds that have an archive. */
  keepCopy(image: object, reason: string, stamp: RowStamp, now: string): void;
  /** A subject that lives again takes back what its copy holds. */
  takeBack(image: object, rid: number | null): void;
}

/** The rows of one kind as readers see them. */
export interface SubjectPages {
  /** Subject and digest of all rows in `@namespace`. */
  readonly digestsSql: string;
  exists(statements: Statements, id: string): boolean;
  /** Rows beyond a place, each compared with its digest and with the operation that wrote it. */
  scrub(
    statements: Statements,
    crypto: Crypto,
    page: { readonly after: string | null; readonly limit: number },
  ): ScrubPage<string>;
  /** The text of the row that this very operation made, while it stands; null otherwise. */
  textOf(statements: Statements, operation: WireOperation): string | null;
}
