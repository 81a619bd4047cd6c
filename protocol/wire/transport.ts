import type { Peer } from '../peers/peer.js';

/** One HTTP message to a peer, its bytes final. */
export interface PeerRequest {
  readonly method: 'GET' | 'POST';
  /** With the API prefix, without the query. */
  readonly path: string;
  /** Raw query string without `?`; empty when there is no query. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** A peer's answer, or why no answer came. A request without an answer may still have had its effect. */
export type PeerReply =
  | { readonly kind: 'answer'; readonly status: number; readonly body: Uint8Array }
  | { readonly kind: 'unreachable'; readonly message: string }
  | { readonly kind: 'timeout'; readonly message: string }
  /** The certificate of the other side does not belong to the peer. */
  | { readonly kind: 'untrusted'; readonly message: string };

/** Carries messages to peers: undici over mutual TLS in the product, a seeded network in the simulation. Never rejects. */
export interface PeerTransport {
  send(peer: Peer, request: PeerRequest, timeoutMs: number): Promise<PeerReply>;
}

/** A message as it arrived, before any check. */
export interface ReceivedMessage {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** SHA-256 of the client's certificate, lower-case hex; null without mutual TLS. */
  readonly fingerprint: string | null;
}
