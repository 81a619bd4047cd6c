import { z } from 'zod';
import { RANGE_OPERATIONS_MAX, RANGE_REPLY_BYTES_MAX } from '../limits.js';
import { type NamespacesReply, type OperationsReply, RANGE_BUCKETS, type SubjectsReply } from './ranges.js';

const ORIGINS_MAX = 100_000;
const text = z.string().max(4096);
const count = z.int().min(0);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z
  .string()
  .max(64)
  .refine((value) => !Number.isNaN(Date.parse(value)));
const place = z.object({ origin: text, seq: z.int().min(1) });
const range = count.max(RANGE_BUCKETS - 1);

const namespaces = z.object({
  have: z.record(text, count).refine((have) => Object.keys(have).length <= ORIGINS_MAX),
  differing: z.array(z.object({ kind: text, namespace: text })),
  compared: count,
  wall_clock: instant,
});

const subjects = z.object({
  // A row without a digest has an empty one.
  subjects: z.array(z.tuple([text, z.union([hash, z.literal('')])])),
  ranges: z.array(range).max(RANGE_BUCKETS),
  next: range.nullable(),
  wall_clock: instant,
});

const operations = z.object({
  operations: z
    .array(
      z.object({
        origin: text,
        seq: z.int().min(1),
        hlc: text,
        kind: text,
        namespace: text,
        subject: text,
        seen: z.record(text, count),
        payloadHash: hash,
        prevHash: hash,
        payload: z.string().nullable(),
      }),
    )
    .max(RANGE_OPERATIONS_MAX),
  withheld: z.array(place).max(RANGE_OPERATIONS_MAX),
  wall_clock: instant,
});

export type Dated<R> = R & { readonly wall_clock: string };

/** What a peer answered to a question about ranges; null for anything else. Nothing of it is believed. */
export const checkNamespacesReply = (body: Uint8Array): Dated<NamespacesReply> | null =>
  read(namespaces, body);
export const checkSubjectsReply = (body: Uint8Array): Dated<SubjectsReply> | null => read(subjects, body);
export const checkOperationsReply = (body: Uint8Array): Dated<OperationsReply> | null =>
  read(operations, body);

function read<T>(shape: z.ZodType<T>, body: Uint8Array): T | null {
  if (body.byteLength > RANGE_REPLY_BYTES_MAX) return null;
  try {
    const parsed = shape.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
