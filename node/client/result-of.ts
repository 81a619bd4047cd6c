import type { Details } from '../../protocol/base/error-details.js';
import { ERRORS, type ErrorCode } from '../../protocol/base/errors.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import { MnemeshError } from './client-error.js';

/** What a call of the client came to. A code of a later release counts as UNAVAILABLE. */
export async function resultOf<T>(call: Promise<T>): Promise<Result<T>> {
  try {
    return ok(await call);
  } catch (error) {
    if (!(error instanceof MnemeshError)) throw error;
    const { code, message, details } = error;
    const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'UNAVAILABLE';
    return failed({ code: known, message, details: details as unknown as Details });
  }
}
