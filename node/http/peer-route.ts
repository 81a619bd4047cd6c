import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import type { Reply } from './service-route.js';

/** The sender of a message according to the connection and the headers; the route checks signatures itself. */
export interface MessageOrigin {
  /** True when the connection comes from this machine. */
  readonly loopback: boolean;
  /** True when X-Agent-Id names an admin and is trusted (interface §5.4). */
  readonly admin: boolean;
}

/**
 * A route for messages between nodes, or about them. It takes the body as raw bytes, because signatures cover these.
 * It exists only under the API prefix.
 */
export interface PeerRoute {
  readonly kind: 'peer';
  /** Label in the metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Below the API prefix. */
  readonly path: string;
  readonly summary: string;
  /**
   * `peers`: no API key is required when an allowlist of certificates is enforced (interface §5.2). `guests`: the same,
   * and the holder of an open invitation may call as well. `local`: an ordinary route with the API key.
   */
  readonly access: 'peers' | 'guests' | 'local';
  /** Maximum size of a body; by default that of every request. */
  readonly bodyBytesMax?: number;
  /** True for a POST that may be repeated, so it may be answered OVERLOADED although it ran. */
  readonly repeatable?: true;
  readonly answer: (message: ReceivedMessage, origin: MessageOrigin) => Promise<Reply>;
}
