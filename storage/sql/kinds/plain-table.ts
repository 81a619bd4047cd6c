import type { Hlc, Origin } from '../../../protocol/base/meanings.js';
import type { Row } from '../../../protocol/decide/rows.js';
import { DamagedRowError } from '../damage.js';
import { type Digests, isDigest } from '../digests.js';
import { vectorOf } from '../operation-rows.js';
import type { Stamps } from '../stamps.js';
import type { Place, Replacement, SubjectTable, Written } from './subject-table.js';

/** The columns that the rows of all such kinds have. */
export interface StampedSqlRow {
  readonly namespace: string;
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: string;
  readonly digest: Uint8Array | null;
}

/** The text that is digested with a row's id, and the row's image; null for a row that cannot be read. */
export interface Held {
  readonly text: string;
  readonly image: object | null;
}

/** Rows of a kind that has no archive and no local members: to replace a row, it deletes and inserts it. */
export abstract class PlainTable<Sql extends StampedSqlRow> implements SubjectTable {
  constructor(
    protected readonly kind: string,
    private readonly digests: Digests,
    private readonly stamps: Stamps,
  ) {}

  protected abstract read(id: string): Sql | undefined;
  protected abstract held(sql: Sql): Held;
  protected abstract put(place: Place, written: Written, digest: Uint8Array): void;
  protected abstract drop(id: string): void;

  row(id: string): Row | null {
    const sql = this.read(id);
    return sql === undefined ? null : this.whole(id, sql);
  }

  /** The row, compared with its digest and with the operation that wrote it. */
  protected whole(id: string, sql: Sql): Row {
    const { text, image } = this.held(sql);
    const row = image === null ? null : rowFromSql(id, sql, image);
    const whole =
      row !== null &&
      isDigest(sql.digest, this.digests.of(id, text)) &&
      this.stamps.hold(this.kind, id, { ...row.stamp, namespace: row.namespace });
    if (!whole) throw new DamagedRowError(this.kind, id);
    return row;
  }

  stored(id: string): ReturnType<SubjectTable['stored']> {
    const sql = this.read(id);
    if (sql === undefined) return { exists: false, row: null, counted: null, whole: false };
    const { text, image } = this.held(sql);
    const row = image === null ? null : rowFromSql(id, sql, image);
    return {
      exists: true,
      row,
      counted: sql.namespace,
      whole: isDigest(sql.digest, this.digests.of(id, text)),
    };
  }

  stamped(image: object): object {
    return image;
  }

  ofVersion({ image }: { readonly image: object }): object {
    return image;
  }

  insert(place: Place, written: Written, _now: string): null {
    const digest = this.digests.of(place.id, written.text);
    this.put(place, written, digest);
    this.digests.join(this.kind, place.namespace, digest);
    return null;
  }

  replace(before: Row, place: Place, written: Written, _how: Replacement, now: string): null {
    this.remove(before, now);
    return this.insert(place, written, now);
  }

  /** `row` compared it with its digest when it was read. */
  remove({ id }: Row, _now: string): null {
    this.erase(id);
    return null;
  }

  erase(id: string): void {
    const before = this.read(id);
    if (before === undefined) return;
    this.drop(id);
    this.digests.leave(this.kind, before.namespace, before.digest);
  }

  keepCopy(): void {}

  takeBack(): void {}
}

/** A row as decisions read it. */
export function rowFromSql(id: string, sql: StampedSqlRow, image: object): Row {
  const { namespace, hlc, origin, origin_seq } = sql;
  return { id, namespace, image, stamp: { hlc, origin, origin_seq, seen: vectorOf(sql.seen) } };
}
