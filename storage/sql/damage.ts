/** A row or tombstone that cannot be read or does not match what was written. */
export class DamagedRowError extends Error {
  constructor(
    /** The kind of the subject. */
    readonly kind: string,
    readonly id: string,
  ) {
    super(`the row of ${kind} ${id} does not match what was written`);
  }
}
