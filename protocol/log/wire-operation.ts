import type { Origin, PeerId } from '../base/meanings.js';
import type { OperationHeader } from './operation-log.js';
import type { UsedEnvelope } from './used-envelope.js';

/**
 * The messages that nodes exchange about the operation log (design: mesh; interface §4.10). All of them are plain JSON.
 */

/** An operation as it travels: header and payload, or header-only when the receiver may not have the payload. */
export interface WireOperation extends OperationHeader {
  /** The canonical JSON whose SHA-256 is `payloadHash`; null in a header-only operation. */
  readonly payload: string | null;
}

/**
 * An origin's signature over the head of its chain. It authenticates every operation up to the head, also when another
 * peer relays them.
 */
export interface SignedHead {
  readonly origin: Origin;
  readonly seq: number;
  /** Header hash of the operation `seq`. */
  readonly hash: string;
  /** Standard base64, Ed25519 over `headBytes`, by the key of the origin's peer. */
  readonly signature: string;
}

/** The bytes that a head signature covers. */
export function headBytes(head: Pick<SignedHead, 'origin' | 'seq' | 'hash'>): Uint8Array {
  return new TextEncoder().encode(`mnemesh head 1\n${head.origin}\n${head.seq}\n${head.hash}`);
}

/** The peer that made an origin's operations: `<peer_id>/<db_epoch>`. */
export function peerOfOrigin(origin: Origin): PeerId {
  const slash = origin.lastIndexOf('/');
  return slash < 0 ? String(origin) : origin.slice(0, slash);
}

/** True for an origin whose epoch is short and plain. Ours are 16 hex digits; those of old test databases have words. */
export const hasEpoch = (origin: Origin): boolean => /\/[0-9a-z-]{1,16}$/.test(origin);

/** The highest sequence of each origin that a node durably has, without gaps. */
export type Have = Readonly<Record<string, number>>;

/** What a node has whose chains end at these heads. */
export const haveOf = (heads: Readonly<Record<string, { readonly seq: number }>>): Have =>
  Object.fromEntries(Object.entries(heads).map(([origin, { seq }]) => [origin, seq]));

/** Some operations, origin by origin; each origin's are consecutive and end at a signed head. */
export interface OperationPage {
  readonly operations: readonly WireOperation[];
  readonly heads: readonly SignedHead[];
  /** True when the sender has more for the same receiver. */
  readonly more: boolean;
}

/** Why an operation was refused; it may be offered again. */
export type RefusalReason =
  /** Operations of the origin are missing before it; `have` says where to begin. */
  | 'gap'
  /** Another operation with this sequence is known. */
  | 'fork'
  /** Stamped too far ahead of the receiver's clock. */
  | 'clock_skew'
  /** The receiver's own origin, beyond what it has: its database was restored from an older copy. */
  | 'own_ahead'
  /** The payload, chain or head do not match each other. */
  | 'bad_chain'
  /** No enrolled peer has a key for the origin. */
  | 'unknown_origin';

/** Why an operation is in the log without effect. */
export type ParkReason =
  | 'unknown_kind'
  | 'out_of_scope'
  | 'bad_signature'
  | 'invalid'
  | 'internal'
  /** Only the home of the subject may write it, and its maker is not the home. */
  | 'not_home'
  /** It holds a secret, which this node does not keep. */
  | 'secret'
  /** Written under sequence numbers that were used twice, and also here under another origin. */
  | 'forked'
  /**
   * Out of scope: it moved a memory of this node there, so the memory has no row here. Peers are told `out_of_scope`.
   */
  | 'elsewhere';

/** An operation whose payload, chain and head the caller has verified against each other. */
export interface VerifiedOperation extends WireOperation {
  /** True when its payload follows from its header, and its sender did not give it: this node may not hold the namespace. */
  readonly implied?: true;
  /** Its header hash. */
  readonly hash: string;
  /**
   * Set when its payload may not take effect: the author's signature is wrong, the payload contradicts its header or
   * cannot be stored, it holds a secret, or applying it failed when it was offered before.
   */
  readonly refusal: 'bad_signature' | 'invalid' | 'secret' | 'internal' | null;
  /** Globs of the namespaces that its maker may write to here; null for all. */
  readonly scope: readonly string[] | null;
  /** The envelope that its author signed, where it could be presented again. */
  readonly envelope?: UsedEnvelope;
}
