import type { Result } from '../../protocol/base/result.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { VectorRequest } from './vector-follower.js';

/** Finds the nearest memories. `deadlineMs` is an instant of the clock's `monotonicMs`. */
export interface VectorSearch {
  /** See `VectorFollower.search`. OVERLOADED, DEADLINE, ACTOR_RESTARTED, SHUTTING_DOWN, DATABASE_ERROR, INVALID_ARGUMENT, STORAGE_FULL. */
  search(request: VectorRequest, deadlineMs: number): Promise<Result<VectorEvidence>>;
  /** Loads what the first search needs, where that can be done beside other work. */
  warm(deadlineMs: number): Promise<Result<void>>;
  /** Open calls fail with SHUTTING_DOWN. Closing twice is harmless. */
  close(): Promise<void>;
}
