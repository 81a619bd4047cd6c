import type { Origin } from '../base/meanings.js';
import type {
  Have,
  OperationPage,
  ParkReason,
  RefusalReason,
  SignedHead,
  WireOperation,
} from '../log/wire-operation.js';

/** Body of `POST /api/v1/sync/push` between nodes; the arrays of legacy callers may be in it too. */
export interface PushBody {
  readonly sender_agent_id: string;
  /** RFC 3339; with it the receiver remembers the nonce only for the time window. */
  readonly sender_wall_clock: string;
  /** The node that the message is for: nobody can pass it on to another. */
  readonly receiver: string;
  readonly memories: readonly unknown[];
  readonly operations: readonly WireOperation[];
  readonly heads: readonly SignedHead[];
}

export interface RefusedOperation {
  readonly origin: Origin;
  readonly seq: number;
  readonly reason: RefusalReason;
}

export interface ParkedOperation {
  readonly op_id: string;
  readonly reason: ParkReason;
}

/** Answer of `POST /api/v1/sync/push`; durable when it is sent. */
export interface PushReply {
  /** Items that took effect, items recorded without effect, and items that were refused or parked. */
  readonly applied: number;
  readonly noop: number;
  readonly skipped: number;
  readonly receiver_agent_id: string;
  /** Latest stamp that the receiver has of each peer. */
  readonly receiver_clock: { readonly entries: Readonly<Record<string, string>> };
  readonly dry_run: boolean;
  /** The last sequences of the origins that the push named. */
  readonly have: Have;
  readonly refused: readonly RefusedOperation[];
  readonly parked: readonly ParkedOperation[];
  /** The receiver's wall clock, to measure skew. */
  readonly wall_clock: string;
  /** Release that the receiver runs. When it changes, the sender offers refused operations again. */
  readonly version?: string;
}

/** Answer of `GET /api/v1/sync/since` with a cursor. */
export interface PullReply extends OperationPage {
  /** The cursor of the next page: what the caller has after taking this page. */
  readonly next_cursor: string;
  /** Everything that the sender has. */
  readonly have: Have;
  /** Root digest over what the caller may hold, when nothing was left to send. */
  readonly root: string | null;
  readonly wall_clock: string;
  readonly version?: string;
}
