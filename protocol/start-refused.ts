import type { ErrorCode } from './errors.js';

/** A node cannot start as it is set up; the message says why and what to do, and holds no secret. */
export class StartRefusedError extends Error {
  constructor(
    readonly refusal: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
