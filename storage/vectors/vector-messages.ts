import type { Failure } from '../../protocol/base/result.js';
import type { DatabasePlace } from '../open/open.js';
import type { VectorRequest } from './vector-follower.js';

/** The data that starts the thread, from this program. */
export interface VectorThreadData {
  readonly place: DatabasePlace;
  readonly model: string;
  readonly dim: number;
  readonly bytesMax?: number | undefined;
}

/** A message to the thread: a search, or, without a request, a refresh. */
export interface VectorCall {
  readonly id: number;
  readonly request: VectorRequest | null;
}

/** A message from the thread; the arrays are transferred. `found` is null after a refresh. */
export type VectorReply =
  | { readonly id: number; readonly error: Failure }
  | {
      readonly id: number;
      readonly found: {
        readonly queryVector: Float32Array;
        readonly rids: Float64Array;
        readonly cosines: Float64Array;
        readonly mean: number;
        readonly deviation: number;
        readonly scanned: number;
      } | null;
    };
