import type { ErrorCode } from './errors.js';

/** A node cannot start with its present setup. The message says why and what to do, and contains no secret. */
export class StartRefusedError extends Error {
  constructor(
    readonly refusal: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
