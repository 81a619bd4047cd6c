import { z } from 'zod';
import type { Failure } from '../../protocol/result.js';
import type { VectorRequest } from './vector-follower.js';

/** What the thread is started with. */
export const vectorThreadDataSchema = z.object({
  /** The SQLite file. */
  path: z.string().min(1),
  model: z.string().min(1),
  dim: z.int().min(1),
  bytesMax: z.int().positive().optional(),
});
export type VectorThreadData = z.infer<typeof vectorThreadDataSchema>;

/** To the thread: a search, or (without a request) a wish to load and catch up. */
export interface VectorCall {
  readonly id: number;
  readonly request: VectorRequest | null;
}

/** From the thread; the arrays are transferred. `found` is null after a refresh. */
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
