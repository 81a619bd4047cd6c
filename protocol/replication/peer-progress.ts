import type { Origin, PeerId } from '../base/meanings.js';
/**
 * Delivery progress to one peer. The peer still needs every own operation after `acked`, so the ledger of failed
 * deliveries is one line for each peer. It is a cache across restarts: the peer's next answer corrects it.
 */
export interface PeerProgress {
  readonly peerId: PeerId;
  /** The own origin whose operations are counted. */
  readonly origin: Origin;
  /** The peer durably has the operations up to this one. */
  readonly acked: number;
  /** Last operation of the failed delivery; 0 when nothing failed since the last success. */
  readonly owedTo: number;
  readonly attempts: number;
  readonly quarantined: boolean;
  readonly cause: string | null;
  readonly firstFailedAtMs: number | null;
  readonly lastFailedAtMs: number | null;
  readonly nextTryAtMs: number | null;
  /** Release that the peer ran. */
  readonly version: string | null;
}

/** An own operation that a peer has and that took no effect there. */
export interface PeerParked {
  readonly peerId: PeerId;
  readonly origin: Origin;
  readonly seq: number;
  readonly reason: string;
  readonly notedAtMs: number;
}

export interface SavePeerProgress {
  readonly kind: 'save-peer-progress';
  readonly progress: readonly PeerProgress[];
  readonly parked: readonly PeerParked[];
  /** Operations that were parked before and have an effect now. */
  readonly settled: readonly Pick<PeerParked, 'peerId' | 'origin' | 'seq'>[];
}
