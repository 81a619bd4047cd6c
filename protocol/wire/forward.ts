import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../base/errors.js';
import { HEADER_TEXT_LENGTH_MAX } from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';
import { readReply } from './message-body.js';
import { instant, receiver, word } from './wire-schema.js';

/**
 * A request that only the home of a subject decides, forwarded by another node (design: kinds, "Two things need one
 * decider"): `POST /api/v1/mesh/commands`, signed like a push. The answer is the home's outcome.
 */

const request = z.object({
  sender_wall_clock: z.string(),
  receiver,
  command: z.looseObject({ kind: word }),
});

export interface ForwardedRequest {
  readonly sentAt: string;
  readonly receiver: string | undefined;
  /** The command as it was sent; its kind says which check it must pass. */
  readonly command: Readonly<Record<string, unknown>> & { readonly kind: string };
}

/** Reads the body of a forwarded request: VALIDATION_FAILED for another shape. */
export function parseForwarded(value: unknown): Result<ForwardedRequest> {
  const parsed = request.safeParse(value);
  if (parsed.success) {
    const { sender_wall_clock: sentAt, receiver: to, command } = parsed.data;
    return ok({ sentAt, receiver: to ?? undefined, command });
  }
  const field = parsed.error.issues[0]?.path.join('.') ?? '';
  return fail('VALIDATION_FAILED', `${field} is not a valid field of a forwarded request`, {
    fields: [field],
  });
}

const outcome = z.union([
  z.object({ ok: z.literal(true), value: z.looseObject({}) }),
  z.object({
    ok: z.literal(false),
    error: z.object({
      code: z.string().refine((code): code is ErrorCode => Object.hasOwn(ERRORS, code)),
      message: z.string().max(HEADER_TEXT_LENGTH_MAX),
      details: z.looseObject({}).optional(),
    }),
  }),
]);

const reply = z.object({ outcome, wall_clock: instant });

/** The answer of a home. The home's clock reading dates it. */
export interface ForwardedReply {
  readonly outcome: Result<Readonly<Record<string, unknown>>>;
  readonly wall_clock: string;
}

/** The answer to a forwarded request; null for bytes of another shape. */
export function checkForwardedReply(body: Uint8Array): ForwardedReply | null {
  const read = readReply(reply, body);
  if (read === null) return null;
  const { outcome, wall_clock } = read;
  if (outcome.ok) return { outcome: ok(outcome.value), wall_clock };
  const { code, message, details } = outcome.error;
  return { outcome: fail(code as ErrorCode, message, details), wall_clock };
}

/** The shape of the message, for who makes such messages. */
export { request as forwardSchema };
