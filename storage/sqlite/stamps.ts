import type { RowStamp } from '../../protocol/decide/reads.js';
import { sameVector } from '../../protocol/version-vector.js';
import type { Connection } from './connection.js';
import { coversOf, type OperationStamp } from './operation-rows.js';

/** Compares stamps, which no digest covers, with those of the operations that made a row or a tombstone. */
export class Stamps {
  private readonly operation;
  private readonly siblings;

  constructor(db: Connection) {
    this.operation = db.prepare<[string, number], OperationStamp>(
      'SELECT hlc, origin, origin_seq, seen FROM operations WHERE origin = ? AND origin_seq = ?',
    );
    this.siblings = db.prepare<[string, string], OperationStamp>(
      `SELECT o.hlc, o.origin, o.origin_seq, o.seen FROM siblings s
       JOIN operations o ON o.origin = s.origin AND o.origin_seq = s.origin_seq WHERE s.kind = ? AND s.subject = ?`,
    );
  }

  hold(kind: string, id: string, { hlc, origin, origin_seq: seq, seen }: RowStamp): boolean {
    const last = this.operation.get(origin, seq);
    if (last?.hlc !== hlc) return false;
    const siblings = this.siblings.all(kind, id);
    return sameVector(seen, coversOf(siblings.length === 0 ? [last] : siblings));
  }
}
