import { canonicalJson } from '../base/canonical-json.js';
import type { Hlc, Origin, SubjectId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import type { VersionVector } from '../base/version-vector.js';

/** The part of an operation that is hashed into its origin's chain. */
export interface OperationHeader {
  /** `<peer_id>/<db_epoch>` of the node that made it. */
  readonly origin: Origin;
  /** 1, 2, 3 … without a gap within each origin. */
  readonly seq: number;
  readonly hlc: Hlc;
  /** The word of the operation: it names the subject's kind and the operation's role. */
  readonly kind: string;
  readonly namespace: string;
  /** Id of the subject that it changes. */
  readonly subject: SubjectId;
  /** The subject's version vector before this write. */
  readonly seen: VersionVector;
  /** SHA-256 of the payload text, hex. */
  readonly payloadHash: string;
  /** Hash of the origin's previous header; 64 zeros for the first. */
  readonly prevHash: string;
}

/** The head of a chain without operations. */
export const CHAIN_GENESIS = '0'.repeat(64);

/** The id of an operation: its origin and sequence, which no other operation shares. */
export function operationId(origin: Origin, seq: number): string {
  return `${origin}/${seq}`;
}

/** The place that an id names; null for a text that is no id of an operation. */
export function placeOfOperation(id: string): { readonly origin: Origin; readonly seq: number } | null {
  const [, origin, seq] = /^(.+)\/([1-9]\d{0,15})$/s.exec(id) ?? [];
  return origin === undefined ? null : { origin: origin as Origin, seq: Number(seq) };
}

/** The hash that the next header of the same origin carries as `prevHash`. */
export function headerHash(header: OperationHeader, crypto: Crypto): string {
  return crypto.sha256Hex(
    canonicalJson([
      header.origin,
      header.seq,
      header.hlc,
      header.kind,
      header.namespace,
      header.subject,
      header.seen,
      header.payloadHash,
      header.prevHash,
    ]),
  );
}
