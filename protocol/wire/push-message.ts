import { z } from 'zod';
import { agentIdProblem } from '../base/ids.js';
import { HEADER_TEXT_LENGTH_MAX, PUSH_OPERATIONS_MAX } from '../base/limits.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import type { ParkReason, RefusalReason } from '../log/wire-operation.js';
import type { PushReply } from './bodies.js';
import { readBody, readReply } from './message-body.js';
import { count, have, instant, place, receiver, release } from './wire-schema.js';

/** The body of `POST /sync/push` as it is received, and the answer to it. Unknown keys are ignored. */

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
  'signals',
  'action_transitions',
] as const;
export type PushArray = (typeof PUSH_ARRAYS)[number];

const items = z.array(z.unknown()).nullish();
const push = z.object({
  sender_agent_id: z.string(),
  sender_wall_clock: z.string().nullish(),
  receiver,
  dry_run: z.boolean().nullish(),
  operations: items,
  heads: items,
  ...byArray(() => items),
});

/** One value for each array. */
function byArray<T>(of: (name: PushArray) => T): Readonly<Record<PushArray, T>> {
  return Object.fromEntries(PUSH_ARRAYS.map((name) => [name, of(name)])) as Record<PushArray, T>;
}

/** A push whose items are not read yet. */
export interface Push {
  readonly sender: string;
  readonly sentAt: string | undefined;
  readonly receiver: string | undefined;
  readonly dryRun: boolean;
  readonly operations: readonly unknown[];
  readonly heads: readonly unknown[];
  readonly arrays: Readonly<Record<PushArray, readonly unknown[]>>;
}

/**
 * Reads the body of a push: VALIDATION_FAILED when it has another shape. `pushProblem` checks the sender and then the
 * caps.
 */
export function parsePush(body: Readonly<Record<string, unknown>>): Result<Push> {
  const read = readBody(push, body);
  if (!read.ok) return failed(read.error);
  const data = read.value;
  if (data.memories == null && data.operations == null) {
    return fail('VALIDATION_FAILED', 'memories is required', { fields: ['memories'] });
  }
  return ok({
    sender: data.sender_agent_id,
    sentAt: data.sender_wall_clock ?? undefined,
    receiver: data.receiver ?? undefined,
    dryRun: data.dry_run ?? false,
    operations: data.operations ?? [],
    heads: data.heads ?? [],
    arrays: byArray((name) => data[name] ?? []),
  });
}

/** What is wrong with the sender or the size of a push; null when nothing is wrong. */
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

/** The parts of a push's answer that the sender uses. */
export interface CheckedPushReply
  extends Pick<PushReply, 'applied' | 'noop' | 'have' | 'refused' | 'parked' | 'wall_clock'> {
  readonly version: string | null;
  /** The peer that answers; null when the answer does not name it. */
  readonly receiver: string | null;
}

/** A reason, which only a later release may know. */
const reason = <R extends string>() =>
  z.custom<R>((value) => typeof value === 'string' && value.length <= REASON_LENGTH_MAX);
const REASON_LENGTH_MAX = 64;

const pushReply = z.object({
  applied: count,
  noop: count,
  have,
  refused: z.array(place.extend({ reason: reason<RefusalReason>() })),
  parked: z.array(z.object({ op_id: z.string().max(HEADER_TEXT_LENGTH_MAX), reason: reason<ParkReason>() })),
  wall_clock: instant,
  version: release,
  receiver_agent_id: z.string().max(HEADER_TEXT_LENGTH_MAX).nullable().catch(null),
});

/** Reads a peer's answer to a push; null for anything else. The contents are not verified. */
export function checkPushReply(body: Uint8Array): CheckedPushReply | null {
  const read = readReply(pushReply, body);
  if (read === null) return null;
  const { receiver_agent_id: receiver, ...said } = read;
  return { ...said, receiver };
}

/** The shape of the message, for who makes such messages. */
export { push as pushSchema };
