import type { DetailsOf } from '../../../protocol/base/error-details.js';
import { type ErrorCode, errorRow } from '../../../protocol/base/errors.js';
import { type Failure, failure, retryAfterOf } from '../../../protocol/base/result.js';

/** An answer to a peer. */
export interface PeerReply {
  readonly status: number;
  /** JSON. */
  readonly body: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function answer(body: object): PeerReply {
  return { status: 200, body: JSON.stringify(body) };
}

/** The error envelope; a temporary refusal says when to come again. */
export function refuse(failure: Failure): PeerReply {
  const { code, message, details } = failure;
  const envelope = { error: message, code };
  const status = errorRow(code).http;
  const after = retryAfterOf(failure) ?? 1;
  return {
    status,
    body: JSON.stringify(details === undefined ? envelope : { ...envelope, ...details, ...envelope }),
    ...(status === 429 || status === 503 ? { headers: { 'retry-after': String(after) } } : {}),
  };
}

/** A refusal whose text is its tag, as peers of other releases read it. */
export const tagged = <C extends ErrorCode>(code: C, details?: DetailsOf<C>): Failure =>
  failure(code, code, details);
