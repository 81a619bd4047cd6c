/** The embedder's verdict on one row. */
export interface EmbeddedRow {
  readonly rid: number;
  readonly id: string;
  /** The version that was embedded; a row that has changed since waits for the next round. */
  readonly version: number;
  readonly state: EmbedState;
  readonly model: string;
  readonly dim: number;
  /** Chunk vectors one after the other, float32 little-endian; null for a row without vectors. */
  readonly vectors: Uint8Array | null;
}

/** `memories.embed_state`; `cut` has vectors of its beginning only. */
export const EMBED_STATES = { pending: 0, embedded: 1, skipped: 2, failed: 3, cut: 4 } as const;

export type EmbedState = (typeof EMBED_STATES)[keyof typeof EMBED_STATES];
