import { RANGE_NAMESPACES_MAX } from '../../protocol/base/limits.js';
import { type BucketDigests, differingRanges, type KindNamespace } from '../../protocol/log/ranges.js';
import { heldByAll, type Scope } from '../../protocol/log/scope.js';
import { type Have, haveOf } from '../../protocol/log/wire-operation.js';
import { checkBucketsReply, checkNamespacesReply } from '../../protocol/wire/ranges-messages.js';
import { type NamespacesPage, readBuckets, readNamespaces } from './namespace-digests.js';
import type { PeerQuestions } from './peer-questions.js';

/** How far the logs of the two nodes differed while their rows were compared. */
interface LogsThen {
  /** The operations that only one of the two nodes has. */
  readonly gap: number;
  /** True when both had the same operations all the time, so that what differs is damaged. */
  readonly comparable: boolean;
}

export interface ComparedBuckets extends LogsThen {
  /** Buckets that differ, by kind. */
  readonly differing: readonly { readonly kind: string; readonly buckets: readonly number[] }[];
  /** What each of the two nodes may hold. */
  readonly scopes: readonly Scope[];
  /** The own log at the beginning. */
  readonly before: LogMark;
}

interface LogMark {
  readonly have: Have;
  readonly commitSequence: number;
}

export interface ComparedNamespaces extends LogsThen {
  /** At most about RANGE_NAMESPACES_MAX. */
  readonly differing: readonly KindNamespace[];
}

/** First step: compares the digests of all buckets. Null when it failed. */
export async function compareBuckets(questions: PeerQuestions): Promise<ComparedBuckets | null> {
  const before = await markOf(questions);
  if (before === null) return null;
  const within = questions.peer.allowedNamespaces;
  const theirs = await questions.ask({ kind: 'buckets', within }, checkBucketsReply);
  if (theirs === null) return null;
  const scopes = [within, theirs.within];
  const ours = questions.take(await readBuckets(questions.store, scopes));
  const after = ours === null ? null : await markOf(questions);
  if (ours === null || after === null) return null;
  const gap = gapBetween(before.have, theirs.have);
  const still = theirs.still && after.commitSequence === before.commitSequence;
  return {
    differing: differingBuckets(ours, theirs.buckets),
    scopes,
    before,
    gap,
    comparable: still && gap === 0,
  };
}

/**
 * Second step: finds the namespaces that differ in the buckets that do. This node sends what it has page by page, so the
 * number of messages depends on its own rows and not on what the peer answers. Null when it failed.
 */
export async function compareNamespaces(
  questions: PeerQuestions,
  compared: ComparedBuckets,
): Promise<ComparedNamespaces | null> {
  const { scopes, before } = compared;
  const isHeld = heldByAll(scopes);
  const differing: KindNamespace[] = [];
  let { gap, comparable } = compared;
  for (const { kind, buckets } of compared.differing) {
    let after: string | null = null;
    while (differing.length < RANGE_NAMESPACES_MAX) {
      const place: { of: string; buckets: readonly number[]; after: string | null } = {
        of: kind,
        buckets,
        after,
      };
      const query = { ...place, within: scopes, upTo: null };
      const page: NamespacesPage | null = questions.take(await readNamespaces(questions.store, query));
      if (page === null) return null;
      const { digests, next: upTo } = page;
      const within = questions.peer.allowedNamespaces;
      const question = { kind: 'namespaces', within, ...place, upTo, digests } as const;
      const theirs = await questions.ask(question, checkNamespacesReply);
      if (theirs === null) return null;
      const apart = gapBetween(before.have, theirs.have);
      gap = Math.max(gap, apart);
      comparable &&= theirs.still && apart === 0;
      for (const namespace of theirs.differing) if (isHeld(namespace)) differing.push({ kind, namespace });
      after = upTo;
      if (after === null) break;
    }
  }
  const end = await markOf(questions);
  if (end === null) return null;
  return { differing, gap, comparable: comparable && end.commitSequence === before.commitSequence };
}

async function markOf(questions: PeerQuestions): Promise<LogMark | null> {
  const known = questions.take(await questions.store.query({ kind: 'known-origins' }));
  return known === null ? null : { have: haveOf(known.heads), commitSequence: known.commitSequence };
}

/** Buckets that differ, of the kinds that both nodes know. */
function differingBuckets(ours: BucketDigests, theirs: BucketDigests): ComparedBuckets['differing'] {
  return Object.entries(ours).flatMap(([kind, own]) => {
    const others = Object.hasOwn(theirs, kind) ? theirs[kind] : undefined;
    const buckets = others === undefined ? [] : differingRanges(own, others);
    return buckets.length === 0 ? [] : [{ kind, buckets }];
  });
}

/** The number of operations that only one of two nodes has. */
function gapBetween(a: Have, b: Have): number {
  const origins = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...origins].reduce((sum, origin) => sum + Math.abs((a[origin] ?? 0) - (b[origin] ?? 0)), 0);
}
