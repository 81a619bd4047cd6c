/**
 * How far deliveries to one peer have come: what is owed to it is every own operation beyond `acked`, so the ledger of
 * failed deliveries is one line for each peer. A cache across restarts: the peer's next answer gives the truth.
 */
export interface PeerProgress {
  readonly peerId: string;
  /** The own origin that it is about. */
  readonly origin: string;
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

/** An own operation that a peer has without its having taken effect there. */
export interface PeerParked {
  readonly peerId: string;
  readonly origin: string;
  readonly seq: number;
  readonly reason: string;
  readonly notedAtMs: number;
}

export interface SavePeerProgress {
  readonly kind: 'save-peer-progress';
  readonly progress: readonly PeerProgress[];
  readonly parked: readonly PeerParked[];
  /** Parked before, in effect now. */
  readonly settled: readonly Pick<PeerParked, 'peerId' | 'origin' | 'seq'>[];
}
