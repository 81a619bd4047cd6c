import type { Hlc, Origin, SubjectId } from '../../protocol/base/meanings.js';
import { joined, type VersionVector, withWrite } from '../../protocol/base/version-vector.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';

/** A row of `operations`. */
export interface OperationSqlRow {
  readonly commit_sequence: number;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly hlc: Hlc;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: SubjectId;
  readonly seen: string;
  readonly payload_hash: string;
  readonly prev_hash: string;
  readonly payload: string | null;
  readonly parked: string | null;
  readonly head_signature: string | null;
}

/**
 * The vector that an operation in the log has seen. An unreadable vector does not block other operations: its header
 * then has a wrong hash, which a reader that needs the operation detects.
 */
export function vectorOf(seen: string): VersionVector {
  try {
    const value: unknown = JSON.parse(seen);
    return typeof value === 'object' && value !== null ? (value as VersionVector) : {};
  } catch {
    return {};
  }
}

/** One changed bit in a record's header turns a text into a blob with the same bytes; any other type is lost. */
const textOf = (stored: unknown): string | null =>
  stored instanceof Uint8Array ? Buffer.from(stored).toString() : typeof stored === 'string' ? stored : null;

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
    payload: textOf(row.payload),
  };
}

const HASH = /^[0-9a-f]{64}$/;

/** False when the row does not form a valid header: a receiver would refuse a page that contains it. */
export const hasHeader = ({ payload_hash, prev_hash, ...row }: OperationSqlRow): boolean =>
  [row.origin, row.hlc, row.kind, row.namespace, row.subject].every((text) => typeof text === 'string') &&
  [payload_hash, prev_hash].every((hash) => typeof hash === 'string' && HASH.test(hash));

/** The columns of an operation that stamp its row. */
export interface OperationStamp {
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: string;
}

/** The union of what operations have seen, themselves included. */
export const coversOf = (operations: readonly OperationStamp[]): VersionVector =>
  joined(operations.map(({ origin, origin_seq: seq, seen }) => withWrite(vectorOf(seen), origin, seq)));

/**
 * The hash that the chain demands for an operation: the next operation names it, or it is the end of its origin's
 * chain.
 */
export const KNOWN_HASH = `SELECT prev_hash AS hash FROM operations WHERE origin = @origin AND origin_seq = @seq + 1
  UNION ALL SELECT head FROM origins WHERE origin = @origin AND seq = @seq
  UNION ALL SELECT chain_head FROM log_state WHERE peer_id || '/' || db_epoch = @origin AND origin_seq = @seq`;
