import { z } from 'zod';
import {
  HAVE_ORIGINS_MAX,
  HEADER_ORIGIN_LENGTH_MAX,
  HEADER_ORIGINS_SEEN_MAX,
  HEADER_TEXT_LENGTH_MAX,
  HEADER_WORD_LENGTH_MAX,
} from '../base/limits.js';
import type { OperationPlace } from '../log/ranges.js';
import type { Have, SignedHead, WireOperation } from '../log/wire-operation.js';

/**
 * The shapes that several messages between nodes share. A pull must be able to carry everything that a push accepts, so
 * each shape has one schema. Unknown keys are ignored, so nodes can be upgraded one by one.
 */

export const count = z.int().min(0);
export const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** A word of an operation, and the name of a kind. */
export const word = wellFormed(HEADER_WORD_LENGTH_MAX);
/** A namespace, and the id of a subject. */
export const text = wellFormed(HEADER_TEXT_LENGTH_MAX);
/** Text without half characters: the database replaces them, and then its hash is another. */
function wellFormed(lengthMax: number) {
  return z
    .string()
    .max(lengthMax)
    .refine((value) => value.isWellFormed());
}
/** When a message was made, as its sender says. */
export const instant = z
  .string()
  .max(64)
  .refine((value) => !Number.isNaN(Date.parse(value)));

/** The node that a message is for, under its signature; releases that do not name it leave it out. */
export const receiver = z.string().max(HEADER_WORD_LENGTH_MAX).nullish();

/** The release that a peer runs; null when it does not say. */
export const release = z.string().max(64).nullable().catch(null);

const originName = wellFormed(HEADER_ORIGIN_LENGTH_MAX);
const origin = originName.regex(/^[^/].*\/[A-Za-z0-9_:.@-]+$/);
const sequence = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** Numbers by origin, for at most `originsMax` origins. A name such as `toString` would not count as absent. */
const byOrigin = (number: z.ZodType<number>, originsMax: number) =>
  z.record(origin, number).refine((numbers) => Object.keys(numbers).length <= originsMax);

export const have: z.ZodType<Have> = byOrigin(count, HAVE_ORIGINS_MAX);

/** The position of an operation: its origin and sequence. */
export const place = z.object({ origin, seq: sequence });

export const operation: z.ZodType<WireOperation> = z.object({
  origin,
  seq: sequence,
  hlc: z.string().regex(/^\d{13}-\d{5}$/),
  kind: word.min(1),
  namespace: text,
  subject: text,
  // An origin of which nothing was seen is left out, so that equal vectors have one text.
  seen: byOrigin(sequence, HEADER_ORIGINS_SEEN_MAX),
  payloadHash: hash,
  prevHash: hash,
  payload: z.string().nullable(),
});

export const head: z.ZodType<SignedHead> = z.object({
  origin,
  seq: sequence,
  hash,
  signature: z.string().max(128),
});

/** An operation of a push. An operation that cannot be read carries its position, if that can be read. */
export type ReadOperation =
  | { readonly ok: true; readonly operation: WireOperation }
  | { readonly ok: false; readonly place: OperationPlace | null };

/** Reads one operation of a push; a bad operation does not affect the others. */
export function readOperation(value: unknown): ReadOperation {
  const parsed = operation.safeParse(value);
  if (parsed.success) return { ok: true, operation: parsed.data };
  const readable = place.safeParse(value);
  return { ok: false, place: readable.success ? readable.data : null };
}

/** The readable heads of a message. */
export function readHeads(values: readonly unknown[]): SignedHead[] {
  return values.flatMap((value) => {
    const parsed = head.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
