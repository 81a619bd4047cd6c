import type { Hlc, Origin } from '../../../protocol/base/meanings.js';
import { sameVector } from '../../../protocol/base/version-vector.js';
import { coversOf, vectorOf } from '../operation-rows.js';

/** The columns of each row's operation that a page of rows selects, with the alias `o`. */
export const OPERATION_COLUMNS =
  'o.payload_hash, o.hlc AS operation_hlc, o.seen AS operation_seen, o.namespace AS operation_namespace';

export interface OperationColumns {
  readonly payload_hash: string | null;
  readonly operation_hlc: string | null;
  readonly operation_seen: string | null;
  readonly operation_namespace: string | null;
}

interface StampedRow {
  readonly namespace: string;
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: string;
  readonly operation_hlc: string | null;
  readonly operation_seen: string | null;
  readonly operation_namespace: string | null;
}

/**
 * True when the stamps and namespace of a row or tombstone match its operation. A row with several versions is always
 * checked closely, because its text is not the text of any one version.
 */
export function isStampedBy(row: StampedRow): boolean {
  const { hlc, origin, origin_seq, seen, operation_hlc, operation_seen } = row;
  const operation = { hlc, origin, origin_seq, seen: String(operation_seen) };
  const isPlaced = row.operation_namespace === row.namespace;
  return isPlaced && operation_hlc === hlc && sameVector(vectorOf(seen), coversOf([operation]));
}
