import { z } from 'zod';
import type { ErrorCode } from '../errors.js';
import { ERRORS } from '../errors.js';
import { HEADER_WORD_LENGTH_MAX, RANGE_REPLY_BYTES_MAX } from '../limits.js';
import { fail, ok, type Result } from '../result.js';

/**
 * A request that only the home of a subject decides, as another node passes it on (design: kinds, "Two things need one
 * decider"): `POST /api/v1/mesh/commands`, signed like a push. The answer is the home's outcome.
 */
export const COMMANDS_PATH = '/api/v1/mesh/commands';

const request = z.object({
  sender_wall_clock: z.string(),
  command: z.looseObject({ kind: z.string().max(HEADER_WORD_LENGTH_MAX) }),
});

export interface ForwardedRequest {
  readonly sentAt: string;
  /** As it was sent; its kind says which check it must pass. */
  readonly command: Readonly<Record<string, unknown>> & { readonly kind: string };
}

/** Reads the body of a forwarded request: VALIDATION_FAILED for another shape. */
export function parseForwarded(value: unknown): Result<ForwardedRequest> {
  const parsed = request.safeParse(value);
  if (parsed.success) return ok({ sentAt: parsed.data.sender_wall_clock, command: parsed.data.command });
  const field = parsed.error.issues[0]?.path.join('.') ?? '';
  return fail('VALIDATION_FAILED', `${field} is not what a forwarded request holds`, { fields: [field] });
}

const outcome = z.union([
  z.object({ ok: z.literal(true), value: z.looseObject({}) }),
  z.object({
    ok: z.literal(false),
    error: z.object({
      code: z.string().refine((code): code is ErrorCode => code in ERRORS),
      message: z.string().max(4096),
      details: z.looseObject({}).optional(),
    }),
  }),
]);

const reply = z.object({ outcome, wall_clock: z.string().max(64) });

/** The answer of a home. Its clock reading dates it. */
export interface ForwardedReply {
  readonly outcome: Result<Readonly<Record<string, unknown>>>;
  readonly wall_clock: string;
}

/** The answer to a forwarded request; null for bytes of another shape. */
export function checkForwardedReply(body: Uint8Array): ForwardedReply | null {
  if (body.byteLength > RANGE_REPLY_BYTES_MAX) return null;
  try {
    const parsed = reply.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)));
    if (!parsed.success || Number.isNaN(Date.parse(parsed.data.wall_clock))) return null;
    const { outcome, wall_clock } = parsed.data;
    if (outcome.ok) return { outcome: ok(outcome.value), wall_clock };
    const { code, message, details } = outcome.error;
    return { outcome: fail(code as ErrorCode, message, details), wall_clock };
  } catch {
    return null;
  }
}
