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

/** One bit of a record's header makes a blob of a text, with the same bytes; what is neither of the two is lost. */
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

/** False for a row whose header nobody would take for one: a page with it would be refused with all that is in it. */
export const hasHeader = ({ payload_hash, prev_hash, ...row }: OperationSqlRow): boolean =>
  [row.origin, row.hlc, row.kind, row.namespace, row.subject].every((text) => typeof text === 'string') &&
  [payload_hash, prev_hash].every((hash) => typeof hash === 'string' && HASH.test(hash));

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

/** What the chain demands as the hash of an operation: what its follower names, or where its origin's chain ends. */
export const KNOWN_HASH = `SELECT prev_hash AS hash FROM operations WHERE origin = @origin AND origin_seq = @seq + 1
  UNION ALL SELECT head FROM origins WHERE origin = @origin AND seq = @seq
  UNION ALL SELECT chain_head FROM log_state WHERE peer_id || '/' || db_epoch = @origin AND origin_seq = @seq`;
