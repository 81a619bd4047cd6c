import * as limits from '../../../protocol/limits.js';
import { compareDigests } from '../../../protocol/mesh/compare-digests.js';
import { mayHave, mayHold, type Peer } from '../../../protocol/mesh/peer.js';
import {
  differingRanges,
  type NamespacesReply,
  type OperationsReply,
  type RangesQuestion,
  type SubjectsReply,
} from '../../../protocol/mesh/ranges.js';
import { fail, failed, ok, type Result } from '../../../protocol/result.js';
import type { Clock } from '../../../protocol/seams.js';
import { instantFromMs } from '../../../protocol/time.js';
import type { Store } from '../../../storage/port.js';

export interface RangesParts {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Answers where this node's rows differ from a peer's, as far as both may hold them, and sends operations that the peer
 * lacks.
 */
export async function handleRanges(
  parts: RangesParts,
  peer: Peer,
  ask: RangesQuestion,
): Promise<Result<object>> {
  if (peer.pullDenied === true) return fail('FORBIDDEN', 'this peer may only push');
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
  // The asking node leaves out what this node may not hold.
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
  // The same answer as for a namespace that does not exist.
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
    // Only operations with an effect here: a header-only operation does not tell where a memory is.
    withheld: hidden.flatMap(({ origin, seq, payload }) => (payload === null ? [] : [{ origin, seq }])),
  });
}
