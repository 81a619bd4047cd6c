import type { PeerId } from '../base/meanings.js';
import type { Kinds } from '../kinds/kinds.js';
import { EPOCH_KIND } from '../log/epoch-notice.js';
import { mayHold, type Scope } from '../log/scope.js';

/** A node of the mesh as another node knows it. */
export interface Peer {
  /** `peer-<16 hex>`: derived from the public key. */
  readonly peerId: PeerId;
  /**
   * Base address, for example `https://10.0.0.2:9077`; null for a peer that connects to others and cannot be reached.
   */
  readonly url: string | null;
  /** 32 raw bytes, Ed25519: verifies its messages and the heads of its origins. */
  readonly publicKey: Uint8Array;
  /** SHA-256 of the DER certificates that may speak for it, lower-case hex; empty when TLS is not used. */
  readonly fingerprints: readonly string[];
  readonly allowedNamespaces: Scope;
  /** Other agent ids that it may send as, for legacy rows. */
  readonly allowedSenderAgentIds: readonly string[];
  /**
   * True for a peer that was enrolled only by its key, without a scope: it may push, and receives nothing
   * (reference-federation §1.6). Absent for all others.
   */
  readonly pullDenied?: boolean;
  /** The node does not contact a departed peer; its key still verifies what it wrote. */
  readonly state: 'member' | 'departed';
}

/** The members of the mesh, as this node knows them now. */
export interface Roster {
  /** Members and departed, without this node itself. */
  peers(): readonly Peer[];
  find(peerId: string): Peer | null;
  /** Calls the listener after every change; answers a function that stops it. */
  onChange(listener: () => void): () => void;
}

interface Worded {
  /** The word of the operation. */
  readonly kind: string;
  readonly namespace: string;
}

/** True when a peer may write an operation; every peer may write an operation about the log itself. */
export function mayWrite(peer: Pick<Peer, 'allowedNamespaces'>, { kind, namespace }: Worded): boolean {
  return kind === EPOCH_KIND || mayHold(peer, namespace);
}

/** True when a peer may have the payload of an operation; some kinds go to every peer. */
export function mayHave(peer: Pick<Peer, 'allowedNamespaces'>, operation: Worded, kinds: Kinds): boolean {
  return kinds.ofWord(operation.kind)?.kind.reach === 'everybody' || mayWrite(peer, operation);
}
