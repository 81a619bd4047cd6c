/** A row or a tombstone cannot be read, or is not what was written. */
export class DamagedRowError extends Error {
  constructor(
    /** The kind of the subject. */
    readonly kind: string,
    readonly id: string,
  ) {
    super(`the row of ${kind} ${id} is not what was written`);
  }
}
