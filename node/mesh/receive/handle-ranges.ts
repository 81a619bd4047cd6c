import { z } from 'zod';
import * as limits from '../../../protocol/limits.js';
import { compareDigests } from '../../../protocol/mesh/compare-digests.js';
import { mayHave, mayHold, type Peer } from '../../../protocol/mesh/peer.js';
import {
  differingRanges,
  type NamespacesReply,
  type OperationsReply,
  RANGE_BUCKETS,
  type RangesQuestion,
  type SubjectsReply,
} from '../../../protocol/mesh/ranges.js';
import { fail, failed, ok, type Result } from '../../../protocol/result.js';
import type { Clock } from '../../../protocol/seams.js';
import { instantFromMs } from '../../../protocol/time.js';
import type { Store } from '../../../storage/port.js';

const ORIGIN_LENGTH_MAX = 256;
const NAMESPACE_LENGTH_MAX = 4096;
const { HEADER_WORD_LENGTH_MAX: WORD_LENGTH_MAX } = limits;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const origin = z.string().max(ORIGIN_LENGTH_MAX);
const question = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('namespaces'),
    have: z.record(origin, z.int().min(0)),
    digests: z.record(
      z.string().max(WORD_LENGTH_MAX),
      z.record(z.string().max(NAMESPACE_LENGTH_MAX), digest),
    ),
  }),
  z.object({
    kind: z.literal('subjects'),
    of: z.object({
      kind: z.string().max(WORD_LENGTH_MAX),
      namespace: z.string().max(NAMESPACE_LENGTH_MAX),
    }),
    ranges: z.record(z.string().regex(/^\d{1,3}$/), digest),
    from: z.int().min(0).max(RANGE_BUCKETS),
  }),
  z.object({
    kind: z.literal('operations'),
    places: z.array(z.object({ origin, seq: z.int().min(1) })).max(limits.RANGE_OPERATIONS_MAX),
  }),
]);

const body = z.object({ sender_wall_clock: z.string(), ask: question });

/** A question about ranges, as it was read. */
export interface AskedRanges {
  readonly sentAt: string;
  readonly ask: RangesQuestion;
}

/** Reads the body of `POST /mesh/ranges`: VALIDATION_FAILED when it is another shape. */
export function parseRanges(value: Readonly<Record<string, unknown>>): Result<AskedRanges> {
  const parsed = body.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    return fail('VALIDATION_FAILED', `${field}: ${issue?.message ?? 'is invalid'}`, { fields: [field] });
  }
  return ok({ sentAt: parsed.data.sender_wall_clock, ask: parsed.data.ask });
}

export interface RangesParts {
  readonly store: Store;
  readonly clock: Clock;
}

/** Answers where the rows here differ from a peer's, as far as both may hold them, and gives it what it lacks. */
export async function handleRanges(
  parts: RangesParts,
  peer: Peer,
  ask: RangesQuestion,
): Promise<Result<object>> {
  if (peer.pullDenied === true) return fail('FORBIDDEN', 'this peer may push alone');
  const answered = await answerOf(parts.store, peer, ask);
  if (!answered.ok) return failed(answered.error);
  return ok({ ...answered.value, wall_clock: instantFromMs(parts.clock.nowMs()) });
}

function answerOf(store: Store, peer: Peer, ask: RangesQuestion): Promise<Result<object>> {
  switch (ask.kind) {
    case 'namespaces':
      return compareNamespaces(store, peer, ask);
    case 'subjects':
      return compareRanges(store, peer, ask);
    case 'operations':
      return operationsFor(store, peer, ask);
  }
}

async function compareNamespaces(
  store: Store,
  peer: Peer,
  { digests: theirs }: Extract<RangesQuestion, { kind: 'namespaces' }>,
): Promise<Result<NamespacesReply>> {
  const known = await store.query({ kind: 'known-origins' });
  if (!known.ok) return failed(known.error);
  const ours = await store.query({ kind: 'read-digests' });
  if (!ours.ok) return failed(ours.error);
  // The asker leaves out what this node may not hold.
  const all = { allowedNamespaces: null };
  const { differing, compared } = compareDigests(ours.value.digests, theirs, all, peer);
  const have = Object.entries(known.value.heads).map(([name, { seq }]) => [name, seq]);
  return ok({ have: Object.fromEntries(have), differing, compared });
}

async function compareRanges(
  store: Store,
  peer: Peer,
  { of, ranges: theirs, from }: Extract<RangesQuestion, { kind: 'subjects' }>,
): Promise<Result<SubjectsReply>> {
  // As of a namespace that does not exist.
  const nothing = { subjects: [], ranges: [], next: null };
  if (!mayHold(peer, of.namespace)) return ok(nothing);
  const ours = await store.query({ kind: 'read-ranges', of }, { lane: 'background' });
  if (!ours.ok) return failed(ours.error);
  const differing = differingRanges(ours.value.ranges, theirs, from);
  if (differing.length === 0) return ok(nothing);
  const read = await store.query(
    { kind: 'read-range-subjects', of, ranges: differing, limit: limits.RANGE_SUBJECTS_MAX },
    { lane: 'background' },
  );
  if (!read.ok) return failed(read.error);
  const { subjects, ranges } = read.value;
  return ok({ subjects, ranges, next: differing[ranges.length] ?? null });
}

async function operationsFor(
  store: Store,
  peer: Peer,
  { places }: Extract<RangesQuestion, { kind: 'operations' }>,
): Promise<Result<OperationsReply>> {
  const read = await store.query({ kind: 'read-logged', places, bytesMax: limits.SYNC_PAGE_BYTES_MAX });
  if (!read.ok) return failed(read.error);
  const { operations } = read.value;
  const hidden = operations.filter((each) => !mayHave(peer, each));
  return ok({
    operations: operations.map((each) => (mayHave(peer, each) ? each : { ...each, payload: null })),
    // Only what has an effect here: a stub says nothing of where a memory is.
    withheld: hidden.flatMap(({ origin, seq, payload }) => (payload === null ? [] : [{ origin, seq }])),
  });
}
