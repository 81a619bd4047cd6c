import type { RowStamp } from '../../protocol/decide/reads.js';
import { sameVector } from '../../protocol/version-vector.js';
import type { Connection } from './connection.js';
import { coversOf, type OperationStamp } from './operation-rows.js';

type PlacedStamp = OperationStamp & { readonly namespace: string };

/** Compares stamps and namespaces, which no digest covers, with those of the operations that made a row or a tombstone. */
export class Stamps {
  private readonly operation;
  private readonly siblings;

  constructor(db: Connection) {
    this.operation = db.prepare<[string, number], PlacedStamp>(
      'SELECT hlc, origin, origin_seq, seen, namespace FROM operations WHERE origin = ? AND origin_seq = ?',
    );
    this.siblings = db.prepare<[string, string], PlacedStamp>(
      `SELECT o.hlc, o.origin, o.origin_seq, o.seen, o.namespace FROM siblings s
       JOIN operations o ON o.origin = s.origin AND o.origin_seq = s.origin_seq WHERE s.kind = ? AND s.subject = ?`,
    );
  }

  /** The namespace is that of the operation, or of one of several concurrent ones. */
  hold(
    kind: string,
    id: string,
    { hlc, origin, origin_seq: seq, seen, namespace }: RowStamp & { readonly namespace: string },
  ): boolean {
    const last = this.operation.get(origin, seq);
    if (last?.hlc !== hlc) return false;
    const siblings = this.siblings.all(kind, id);
    const made = siblings.length === 0 ? [last] : siblings;
    return made.some((one) => one.namespace === namespace) && sameVector(seen, coversOf(made));
  }
}
