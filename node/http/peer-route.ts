import type { ReceivedMessage } from '../../protocol/mesh/transport.js';
import type { Reply } from './service-route.js';

/** Who sends a message, as far as the connection and the headers say; signatures are the route's own business. */
export interface MessageOrigin {
  /** The connection comes from this machine. */
  readonly loopback: boolean;
  /** X-Agent-Id names an admin who is believed (interface §5.4). */
  readonly admin: boolean;
}

/**
 * A route for messages between nodes, or about them: it takes the bytes as they came, because signatures cover these.
 * It exists under the API prefix alone.
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
   * `peers`: where an allowlist of certificates is enforced no API key is asked for (interface §5.2). `guests`: the same,
   * and who holds an open invitation may call as well. `local`: an ordinary route with the API key.
   */
  readonly access: 'peers' | 'guests' | 'local';
  /** Size of a body at most; that of every request unless given. */
  readonly bodyBytesMax?: number;
  readonly answer: (message: ReceivedMessage, origin: MessageOrigin) => Promise<Reply>;
}
