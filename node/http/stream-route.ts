import type { Result } from '../../protocol/base/result.js';
import type { Caller } from '../identity/caller.js';
import type { EventStream } from './event-stream.js';

/** What a client that opens a stream says. */
export interface StreamRequest {
  readonly caller: Caller;
  /** The id of the event that it got last; null when it begins. */
  readonly lastEventId: string | null;
}

/**
 * A route whose answer has no end: a stream of server-sent events. It is gated as every other route, takes no place under
 * the admission cap, and ends when the client leaves or the node shuts down.
 */
export interface StreamRoute {
  readonly kind: 'stream';
  /** Label in the metrics. */
  readonly name: string;
  /** The bare path, a GET; the path under the API prefix is the same route. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** Admits the client, or fails; what it returns is given the stream when its head has been written. */
  readonly open: (request: StreamRequest) => Promise<Result<(stream: EventStream) => void>>;
}
