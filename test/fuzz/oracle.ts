import { ERRORS, type ErrorCode } from '../../protocol/base/errors.js';
import type { Exchanged, RawAnswer } from './raw-http.js';

const FAULTS: ReadonlySet<string> = new Set(['INTERNAL', 'DATABASE_ERROR', 'DATA_DAMAGED']);

/** What is wrong with an error body `{error, code, …}` on any surface, or null (interface §7). */
export function envelopeProblem(body: unknown, status: number | null): string | null {
  if (typeof body !== 'object' || body === null) return 'an error without an envelope';
  const { error, code } = body as { error?: unknown; code?: unknown };
  if (typeof error !== 'string' || error.trim() === '') return 'an error without a sentence';
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) return `an unknown code: ${String(code)}`;
  if (FAULTS.has(code)) return `a fault: ${code}`;
  const expected = ERRORS[code as ErrorCode].http;
  if (status !== null && status !== expected) return `${code} with status ${status} instead of ${expected}`;
  if (/\bat .+\.[jt]s:\d+|node:internal|SQLITE_|\/node_modules\//.test(error))
    return `an error that shows the inside`;
  return null;
}

/** What is wrong with the answer to a request, or null. */
export function httpProblem({ answers, problem }: Exchanged, whole: boolean): string | null {
  if (problem !== null) return problem;
  if (whole && answers.length === 0) return 'a whole request without an answer';
  for (const answer of answers) {
    const found = answerProblem(answer);
    if (found !== null) return `${found} (status ${answer.status})`;
  }
  return null;
}

function answerProblem({ status, headers, body }: RawAnswer): string | null {
  if (headers['content-encoding'] === 'gzip' && !(headers['vary'] ?? '').includes('accept-encoding')) {
    return 'gzip without Vary';
  }
  if ((status === 503 || status === 429) && headers['retry-after'] === undefined) return 'no Retry-After';
  if (status < 400) {
    if (body === null || headers['content-type'] !== 'application/json') return null;
    return parse(body) === undefined ? 'a success whose body is no JSON' : null;
  }
  if (status === 500) return `a fault: ${body?.toString().slice(0, 300)}`;
  return body === null ? null : envelopeProblem(parse(body), status);
}

/** True for the refusal of a policy, which the audit chain records. */
export const isRecorded = (answer: Buffer | string): boolean => answer.includes('GOVERNANCE_REFUSED');

export function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
