import { readBuckets, readNamespaces } from '../../../actors/mesh/namespace-digests.js';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import {
  type BucketsReply,
  differingRanges,
  type NamespacesReply,
  type OperationsReply,
  type RangesQuestion,
  type SubjectsReply,
} from '../../../protocol/log/ranges.js';
import { heldByAll, mayHold } from '../../../protocol/log/scope.js';
import { type Have, haveOf } from '../../../protocol/log/wire-operation.js';
import { mayHave, type Peer } from '../../../protocol/peers/peer.js';
import { KINDS } from '../../../protocol/release.js';
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
    case 'buckets':
      return bucketsFor(store, peer, ask);
    case 'namespaces':
      return compareNamespaces(store, peer, ask);
    case 'subjects':
      return compareRanges(store, peer, ask);
    case 'operations':
      return operationsFor(store, peer, ask);
  }
}

async function bucketsFor(
  store: Store,
  { allowedNamespaces }: Peer,
  { within }: Extract<RangesQuestion, { kind: 'buckets' }>,
): Promise<Result<BucketsReply>> {
  const read = await withLog(store, () => readBuckets(store, [allowedNamespaces, within]));
  if (!read.ok) return failed(read.error);
  const { value: buckets, ...log } = read.value;
  return ok({ ...log, within: allowedNamespaces, buckets });
}

async function compareNamespaces(
  store: Store,
  { allowedNamespaces }: Peer,
  { within, of, buckets, after, upTo, digests }: Extract<RangesQuestion, { kind: 'namespaces' }>,
): Promise<Result<NamespacesReply>> {
  const scopes = [allowedNamespaces, within];
  const isHeld = heldByAll(scopes);
  const theirs = new Map(digests.filter(([namespace]) => isHeld(namespace)));
  const query = { of, buckets, within: scopes, upTo };
  const read = await withLog(store, () => differingFrom(store, theirs, { ...query, after }));
  if (!read.ok) return failed(read.error);
  const { value: differing, ...log } = read.value;
  return ok({ ...log, differing });
}

/** The namespaces whose digests differ from those of a peer, as many as one answer names. */
async function differingFrom(
  store: Store,
  theirs: ReadonlyMap<string, string>,
  query: Parameters<typeof readNamespaces>[1],
): Promise<Result<readonly string[]>> {
  const lacking = new Set(theirs.keys());
  const differing: string[] = [];
  for (let { after } = query; ; ) {
    const page = await readNamespaces(store, { ...query, after });
    if (!page.ok) return page;
    for (const [namespace, digest] of page.value.digests) {
      lacking.delete(namespace);
      if (theirs.get(namespace) !== digest) differing.push(namespace);
    }
    after = page.value.next;
    if (after === null) for (const namespace of lacking) differing.push(namespace);
    if (after === null || differing.length >= limits.RANGE_NAMESPACES_MAX)
      return ok(differing.slice(0, limits.RANGE_NAMESPACES_MAX));
  }
}

/** What is read, with what the log had meanwhile. */
async function withLog<T>(
  store: Store,
  read: () => Promise<Result<T>>,
): Promise<Result<{ readonly value: T; readonly have: Have; readonly still: boolean }>> {
  const before = await store.query({ kind: 'known-origins' });
  if (!before.ok) return before;
  const value = await read();
  if (!value.ok) return value;
  const after = await store.query({ kind: 'known-origins' });
  if (!after.ok) return after;
  const still = before.value.commitSequence === after.value.commitSequence;
  return ok({ value: value.value, have: haveOf(after.value.heads), still });
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
  const hidden = operations.filter((each) => !mayHave(peer, each, KINDS));
  return ok({
    operations: operations.map((each) => (mayHave(peer, each, KINDS) ? each : { ...each, payload: null })),
    // Only operations with an effect here: a header-only operation does not tell where a memory is.
    withheld: hidden.flatMap(({ origin, seq, payload }) => (payload === null ? [] : [{ origin, seq }])),
  });
}
