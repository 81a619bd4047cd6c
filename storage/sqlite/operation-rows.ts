import type { WireOperation } from '../../protocol/mesh/wire.js';
import { joined, type VersionVector, withWrite } from '../../protocol/version-vector.js';

/** A row of `operations`. */
export interface OperationSqlRow {
  readonly commit_sequence: number;
  readonly origin: string;
  readonly origin_seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: string;
  readonly payload_hash: string;
  readonly prev_hash: string;
  readonly payload: string | null;
  readonly parked: string | null;
  readonly head_signature: string | null;
}

/**
 * What an operation of the log has seen. One that cannot be read is no hindrance to others: its header does not have its
 * hash then, which whoever needs it finds out.
 */
export function vectorOf(seen: string): VersionVector {
  try {
    const value: unknown = JSON.parse(seen);
    return typeof value === 'object' && value !== null ? (value as VersionVector) : {};
  } catch {
    return {};
  }
}

/** An operation as it travels. */
export function operationFromSql(row: OperationSqlRow): WireOperation {
  return {
    origin: row.origin,
    seq: row.origin_seq,
    hlc: row.hlc,
    kind: row.kind,
    namespace: row.namespace,
    subject: row.subject,
    seen: vectorOf(row.seen),
    payloadHash: row.payload_hash,
    prevHash: row.prev_hash,
    payload: row.payload,
  };
}

/** The columns of an operation that stamp its row. */
export interface OperationStamp {
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: string;
}

/** What operations have seen together, themselves included. */
export const coversOf = (operations: readonly OperationStamp[]): VersionVector =>
  joined(operations.map(({ origin, origin_seq: seq, seen }) => withWrite(vectorOf(seen), origin, seq)));
