import { ERRORS, type ErrorRow } from '../../protocol/base/errors.js';
import type { Failure } from '../../protocol/base/result.js';

/** JSON-RPC's reserved codes (interface §7). */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

/** An error of the protocol: thrown by a request handler, it becomes the `error` of the response unchanged. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

/** The body of a failure, as HTTP answers it: `{error, code, …details}`. */
export function failureBody(failure: Failure): Record<string, unknown> {
  return { error: failure.message, code: failure.code, ...failure.details };
}

/** The protocol's error for a failure, or null when it is a domain error, which is a tool result. */
export function rpcErrorOf(failure: Failure): RpcError | null {
  const row: ErrorRow = ERRORS[failure.code];
  return row.jsonRpc === undefined ? null : new RpcError(row.jsonRpc, failure.message, failureBody(failure));
}
