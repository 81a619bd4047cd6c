import { sameVector } from '../../protocol/base/version-vector.js';
import type { RowStamp } from '../../protocol/decide/rows.js';
import type { Connection } from './connection.js';
import { coversOf, KNOWN_HASH, type OperationSqlRow } from './operation-rows.js';

/** Computes the header hashes of operations, as the log does. */
export interface HeaderHashes {
  hashOf(row: OperationSqlRow): string;
}

/** The stamps of a row and its namespace. */
export type PlacedStamp = RowStamp & { readonly namespace: string };

/**
 * Compares stamps and namespaces, which no digest covers, with the operations that made a row or a tombstone. When the
 * log lost such an operation, or its header, nothing contradicts them and they are accepted.
 */
export class Stamps {
  private readonly operation;
  private readonly siblings;
  private readonly end;
  private readonly known;

  constructor(
    db: Connection,
    private readonly log: HeaderHashes,
  ) {
    this.operation = db.prepare<[string, number], OperationSqlRow>(
      'SELECT * FROM operations WHERE origin = ? AND origin_seq = ?',
    );
    this.siblings = db.prepare<[string, string], OperationSqlRow>(
      `SELECT o.* FROM siblings s
       JOIN operations o ON o.origin = s.origin AND o.origin_seq = s.origin_seq WHERE s.kind = ? AND s.subject = ?`,
    );
    this.end = db.prepare<[{ origin: string; seq: number }], { found: number }>(
      `SELECT 1 AS found FROM origins WHERE origin = @origin AND seq >= @seq UNION ALL
       SELECT 1 FROM log_state WHERE peer_id || '/' || db_epoch = @origin AND origin_seq >= @seq`,
    );
    this.known = db.prepare<[{ origin: string; seq: number }], { hash: string }>(KNOWN_HASH);
  }

  /**
   * True unless the log contradicts the stamps. The namespace must be the operation's, or belong to one of several concurrent
   * operations.
   */
  hold(kind: string, id: string, { hlc, origin, origin_seq: seq, seen, namespace }: PlacedStamp): boolean {
    const last = this.operation.get(origin, seq);
    if (last === undefined) return seq >= 1 && this.end.get({ origin, seq }) !== undefined;
    const siblings = this.siblings.all(kind, id);
    const makers = siblings.length === 0 ? [last] : siblings;
    const isPlaced = makers.some((maker) => maker.namespace === namespace);
    if (last.hlc === hlc && isPlaced && sameVector(seen, coversOf(makers))) return true;
    return [last, ...makers].some((maker) => !this.isChained(maker));
  }

  private isChained(row: OperationSqlRow): boolean {
    const known = this.known.get({ origin: row.origin, seq: row.origin_seq });
    return known === undefined || known.hash === this.log.hashOf(row);
  }
}
