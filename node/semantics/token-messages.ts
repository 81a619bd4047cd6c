/** To the thread that counts tokens. */
export interface CountCall {
  readonly id: number;
  readonly texts: readonly string[];
  readonly budget: number;
  /** The caller waits this long for the answer. */
  readonly withinMs: number;
}

/** The answer of that thread; null when the caller no longer waits. */
export interface CountReply {
  readonly id: number;
  readonly counts: readonly number[] | null;
}
