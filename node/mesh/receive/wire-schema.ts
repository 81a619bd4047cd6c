import { z } from 'zod';
import { agentIdProblem } from '../../../protocol/ids.js';
import {
  HEADER_ORIGIN_LENGTH_MAX as ORIGIN_LENGTH_MAX,
  HEADER_ORIGINS_SEEN_MAX as ORIGINS_SEEN_MAX,
  PUSH_OPERATIONS_MAX,
  HEADER_TEXT_LENGTH_MAX as TEXT_LENGTH_MAX,
  HEADER_WORD_LENGTH_MAX as WORD_LENGTH_MAX,
} from '../../../protocol/limits.js';
import type { SignedHead, WireOperation } from '../../../protocol/mesh/wire.js';
import { fail, ok, type Result } from '../../../protocol/result.js';

/** The shapes that peers send. Unknown keys are ignored, so that nodes can be upgraded one by one. */

const origin = z
  .string()
  .max(ORIGIN_LENGTH_MAX)
  .regex(/^[^/].*\/[A-Za-z0-9_:.@-]+$/);
const sequence = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const operation = z.object({
  origin,
  seq: sequence,
  hlc: z.string().regex(/^\d{13}-\d{5}$/),
  kind: z.string().min(1).max(WORD_LENGTH_MAX),
  namespace: z.string().max(TEXT_LENGTH_MAX),
  subject: z.string().max(TEXT_LENGTH_MAX),
  seen: z
    .record(z.string().max(ORIGIN_LENGTH_MAX), z.int().min(0))
    .refine((seen) => Object.keys(seen).length <= ORIGINS_SEEN_MAX),
  payloadHash: hash,
  prevHash: hash,
  payload: z.string().nullable(),
});

const head = z.object({
  origin,
  seq: sequence,
  hash,
  signature: z.string().max(128),
});

/** Where an operation that cannot be read says that it stands. */
const place = z.object({ origin, seq: sequence });

/** Arrays of a push that other releases send, each capped at the page cap (reference-federation §1.4). */
export const PUSH_ARRAYS = [
  'memories',
  'embeddings',
  'deletions',
  'archives',
  'restores',
  'links',
  'pendings',
  'pending_decisions',
  'namespace_meta',
  'namespace_meta_clears',
] as const;
export type PushArray = (typeof PUSH_ARRAYS)[number];

const items = z.array(z.unknown()).nullish();
const push = z.object({
  sender_agent_id: z.string(),
  sender_wall_clock: z.string().nullish(),
  dry_run: z.boolean().nullish(),
  operations: items,
  heads: items,
  ...byArray(() => items),
});

/** One value for each array. */
function byArray<T>(of: (name: PushArray) => T): Readonly<Record<PushArray, T>> {
  return Object.fromEntries(PUSH_ARRAYS.map((name) => [name, of(name)])) as Record<PushArray, T>;
}

/** A push as it was read; its items are not read yet. */
export interface Push {
  readonly sender: string;
  readonly sentAt: string | undefined;
  readonly dryRun: boolean;
  readonly operations: readonly unknown[];
  readonly heads: readonly unknown[];
  readonly arrays: Readonly<Record<PushArray, readonly unknown[]>>;
}

/** Reads the body of a push: VALIDATION_FAILED when it is another shape. Caps are judged apart, after the sender. */
export function parsePush(body: Readonly<Record<string, unknown>>): Result<Push> {
  const parsed = push.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    return fail('VALIDATION_FAILED', `${field}: ${issue?.message ?? 'is invalid'}`, { fields: [field] });
  }
  const { data } = parsed;
  if (data.memories == null && data.operations == null) {
    return fail('VALIDATION_FAILED', 'memories is required', { fields: ['memories'] });
  }
  return ok({
    sender: data.sender_agent_id,
    sentAt: data.sender_wall_clock ?? undefined,
    dryRun: data.dry_run ?? false,
    operations: data.operations ?? [],
    heads: data.heads ?? [],
    arrays: byArray((name) => data[name] ?? []),
  });
}

/** What is wrong with the sender or the size of a push; null when nothing is. */
export function pushProblem(body: Push, pageSizeMax: number): Result<null> {
  const problem = agentIdProblem(body.sender);
  if (problem !== null) {
    return fail('VALIDATION_FAILED', `sender_agent_id: ${problem}`, { fields: ['sender_agent_id'] });
  }
  for (const name of PUSH_ARRAYS) {
    if (body.arrays[name].length > pageSizeMax) return overCap(name, pageSizeMax);
  }
  for (const name of ['operations', 'heads'] as const) {
    if (body[name].length > PUSH_OPERATIONS_MAX) return overCap(name, PUSH_OPERATIONS_MAX);
  }
  return ok(null);
}

function overCap(name: string, max: number) {
  return fail('VALIDATION_FAILED', `sync_push limited to ${max} ${name} per request`, {
    fields: [name],
    max,
  });
}

/** An operation of a push; one that cannot be read says where it stands, as far as that can be read. */
export type ReadOperation =
  | { readonly ok: true; readonly operation: WireOperation }
  | { readonly ok: false; readonly place: { readonly origin: string; readonly seq: number } | null };

export function readOperation(value: unknown): ReadOperation {
  const parsed = operation.safeParse(value);
  if (parsed.success) return { ok: true, operation: parsed.data };
  const readable = place.safeParse(value);
  return { ok: false, place: readable.success ? readable.data : null };
}

/** The heads of a message that can be read. */
export function readHeads(values: readonly unknown[]): SignedHead[] {
  return values.flatMap((value) => {
    const parsed = head.safeParse(value);
    return parsed.success ? [parsed.data] : [];
  });
}
