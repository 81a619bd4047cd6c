/** To the embedder's thread: texts that are not blank. */
export interface EmbedCall {
  readonly id: number;
  readonly texts: readonly string[];
}

/** From the embedder's thread. */
export type EmbedReply =
  | { readonly kind: 'loaded' }
  /** Something that a library wrote to stdout or stderr. */
  | { readonly kind: 'printed'; readonly text: string }
  /** One unit vector after the other; the array is transferred. */
  | { readonly kind: 'embedded'; readonly id: number; readonly vectors: Float32Array }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };
