import type { ErrorCode } from '../../protocol/base/errors.js';
import type { MnemeshError as Shape } from './public.js';

export interface ErrorParts {
  readonly code: string;
  readonly message: string;
  readonly status?: number | null;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly isOutcomeUnknown?: boolean;
  readonly cause?: unknown;
}

/** A call failed: the node refused it, or did not answer. */
export class MnemeshError extends Error implements Shape {
  override readonly name = 'MnemeshError';
  readonly code: ErrorCode | (string & {});
  readonly status: number | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly isOutcomeUnknown: boolean;

  constructor({ code, message, status, details, isOutcomeUnknown, cause }: ErrorParts) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status ?? null;
    this.details = details ?? {};
    this.isOutcomeUnknown = isOutcomeUnknown === true;
  }

  get retryAfterSeconds(): number | null {
    const { retry_after_secs: seconds } = this.details;
    return typeof seconds === 'number' ? seconds : null;
  }
}

/** An input or option that the client itself refuses. */
export const refused = (message: string, fields: readonly string[]): MnemeshError =>
  new MnemeshError({ code: 'VALIDATION_FAILED', message, details: { fields } });
