import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Failure, failure } from '../../protocol/base/result.js';
import type { Clock, Crypto } from '../../protocol/base/seams.js';
import type { Secret } from '../config/secret.js';
import {
  APPROVAL_SIGNATURE_AHEAD_SECONDS_MAX,
  APPROVAL_SIGNATURE_SECONDS_MAX,
  APPROVAL_SIGNATURES_MAX,
} from './http-limits.js';

/** What a signature on a decision covers. */
export interface SignedDecision {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  /** As the route has decoded it. */
  readonly pendingId: string;
  /** The bytes as they came. */
  readonly body: Uint8Array;
}

/** Checks the signatures of decisions on pending actions (decisions, "approval signature"). */
export interface ApprovalSignatures {
  /**
   * Null for a valid signature, which is then used up; otherwise UNAUTHORIZED, which does not say what is wrong, or
   * OVERLOADED. `required` is false where only a signature that is there must be valid.
   */
  problem(decision: SignedDecision, required: boolean): Failure | null;
}

const TIMESTAMP = 'x-svc-timestamp';
const SIGNATURE = 'x-svc-signature';

const UNAUTHORIZED: Failure = failure('UNAUTHORIZED', 'invalid or missing X-SVC-Signature', {
  hint:
    'send X-SVC-Timestamp (Unix seconds, now) and X-SVC-Signature: sha256=<hex of HMAC-SHA-256 over ' +
    '"<timestamp>.<METHOD>.<pending_id>.<raw body>", keyed with the 32 bytes of SHA-256(secret)>; each signature is ' +
    'good once, and the node needs [hooks.subscription] hmac_secret',
});

/** How long a signature can be repeated at most, after it was used. */
const KEPT_SECONDS = APPROVAL_SIGNATURE_SECONDS_MAX + APPROVAL_SIGNATURE_AHEAD_SECONDS_MAX;

export function approvalSignatures(
  secret: Secret | null,
  clock: Pick<Clock, 'nowMs'>,
  crypto: Pick<Crypto, 'sha256'>,
  signaturesMax = APPROVAL_SIGNATURES_MAX,
): ApprovalSignatures {
  const key = secret === null ? null : crypto.sha256(secret.reveal());
  const used = new UsedSignatures(signaturesMax);
  return {
    problem(decision, required) {
      const { headers } = decision;
      if (!required && headers[TIMESTAMP] === undefined && headers[SIGNATURE] === undefined) return null;
      const nowSeconds = Math.floor(clock.nowMs() / 1000);
      if (key === null || !isValid(decision, key, nowSeconds)) return UNAUTHORIZED;
      return used.use(String(headers[SIGNATURE]), nowSeconds);
    },
  };
}

function isValid(
  { headers, method, pendingId, body }: SignedDecision,
  key: Uint8Array,
  nowSeconds: number,
): boolean {
  const timestamp = String(headers[TIMESTAMP]);
  const given = /^sha256=([0-9a-f]{64})$/.exec(String(headers[SIGNATURE]))?.[1];
  if (given === undefined || !/^[0-9]{1,12}$/.test(timestamp)) return false;
  const age = nowSeconds - Number(timestamp);
  if (age > APPROVAL_SIGNATURE_SECONDS_MAX || -age > APPROVAL_SIGNATURE_AHEAD_SECONDS_MAX) return false;
  const expected = createHmac('sha256', key)
    .update(`${timestamp}.${method}.${pendingId}.`)
    .update(body)
    .digest();
  return timingSafeEqual(expected, Buffer.from(given, 'hex'));
}

/** The valid signatures of the last minutes. Only who has the secret adds one. */
class UsedSignatures {
  /** Signature to the second of its use, the oldest first. */
  readonly #usedAt = new Map<string, number>();

  constructor(private readonly max: number) {}

  use(signature: string, nowSeconds: number): Failure | null {
    for (const [old, seconds] of this.#usedAt) {
      if (nowSeconds - seconds <= KEPT_SECONDS) break;
      this.#usedAt.delete(old);
    }
    if (this.#usedAt.has(signature)) return UNAUTHORIZED;
    if (this.#usedAt.size >= this.max) {
      const message = `this node has taken ${this.max} signed decisions within ${KEPT_SECONDS} s: wait, then sign again`;
      return { code: 'OVERLOADED', message };
    }
    this.#usedAt.set(signature, nowSeconds);
    return null;
  }
}
