/** To the thread that counts tokens. */
export interface CountCall {
  readonly id: number;
  readonly texts: readonly string[];
  readonly budget: number;
  /** Nobody waits for the answer after this time. */
  readonly withinMs: number;
}

/** From it; null for a call whose time was over. */
export interface CountReply {
  readonly id: number;
  readonly counts: readonly number[] | null;
}
