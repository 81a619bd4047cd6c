import { z } from 'zod';
import {
  NAMESPACE_LENGTH_MAX,
  RANGE_GLOBS_MAX,
  RANGE_NAMESPACES_MAX,
  RANGE_OPERATIONS_MAX,
} from '../base/limits.js';
import { failed, ok, type Result } from '../base/result.js';
import {
  type BucketsReply,
  type NamespacesReply,
  type OperationsReply,
  RANGE_BUCKETS,
  type RangesQuestion,
  type SubjectsReply,
} from '../log/ranges.js';
import type { Scope } from '../log/scope.js';
import { readBody, readReply } from './message-body.js';
import { count, hash, have, instant, operation, place, receiver, text, word } from './wire-schema.js';

/** Questions about ranges and the answers to them (`POST /mesh/ranges`). Unknown keys are ignored. */

const range = count.max(RANGE_BUCKETS - 1);
const ranges = z.record(z.string().regex(/^\d{1,3}$/), hash);
const within: z.ZodType<Scope> = z
  .array(z.string().max(NAMESPACE_LENGTH_MAX))
  .max(RANGE_GLOBS_MAX)
  .nullable();
const kindNamespace = z.object({ kind: word, namespace: text });

const question: z.ZodType<RangesQuestion> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('buckets'), within }),
  z.object({
    kind: z.literal('namespaces'),
    within,
    of: word,
    buckets: z.array(range).max(RANGE_BUCKETS),
    after: text.nullable(),
    upTo: text.nullable(),
    digests: z.array(z.tuple([text, hash])),
  }),
  z.object({
    kind: z.literal('subjects'),
    of: kindNamespace,
    ranges,
    from: count.max(RANGE_BUCKETS),
  }),
  z.object({
    kind: z.literal('operations'),
    places: z.array(place).max(RANGE_OPERATIONS_MAX),
  }),
]);

const body = z.object({ sender_wall_clock: z.string(), receiver, ask: question });

/** A question about ranges, after its shape was checked. */
export interface AskedRanges {
  readonly sentAt: string;
  readonly receiver: string | undefined;
  readonly ask: RangesQuestion;
}

/** Reads the body of `POST /mesh/ranges`: VALIDATION_FAILED when it has another shape. */
export function parseRanges(value: Readonly<Record<string, unknown>>): Result<AskedRanges> {
  const read = readBody(body, value);
  if (!read.ok) return failed(read.error);
  const { sender_wall_clock: sentAt, receiver: to, ask } = read.value;
  return ok({ sentAt, receiver: to ?? undefined, ask });
}

const buckets: z.ZodType<Dated<BucketsReply>> = z.object({
  have,
  still: z.boolean(),
  within,
  buckets: z.record(word, ranges),
  wall_clock: instant,
});

const namespaces: z.ZodType<Dated<NamespacesReply>> = z.object({
  have,
  still: z.boolean(),
  differing: z.array(text).max(RANGE_NAMESPACES_MAX),
  wall_clock: instant,
});

const subjects: z.ZodType<Dated<SubjectsReply>> = z.object({
  // A row without a digest has an empty one.
  subjects: z.array(z.tuple([text, z.union([hash, z.literal('')])])),
  ranges: z.array(range).max(RANGE_BUCKETS),
  next: range.nullable(),
  wall_clock: instant,
});

const operations: z.ZodType<Dated<OperationsReply>> = z.object({
  operations: z.array(operation).max(RANGE_OPERATIONS_MAX),
  withheld: z.array(place).max(RANGE_OPERATIONS_MAX),
  wall_clock: instant,
});

export type Dated<R> = R & { readonly wall_clock: string };

/** Reads a peer's answer to a question about ranges; null for anything else. The contents are not verified. */
export const checkBucketsReply = (reply: Uint8Array): Dated<BucketsReply> | null => readReply(buckets, reply);
export const checkNamespacesReply = (reply: Uint8Array): Dated<NamespacesReply> | null =>
  readReply(namespaces, reply);
export const checkSubjectsReply = (reply: Uint8Array): Dated<SubjectsReply> | null =>
  readReply(subjects, reply);
export const checkOperationsReply = (reply: Uint8Array): Dated<OperationsReply> | null =>
  readReply(operations, reply);

/** The shape of the message, for who makes such messages. */
export { body as rangesSchema };
