import type { Origin } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import type { Scope } from './scope.js';
import type { Have, WireOperation } from './wire-operation.js';

/**
 * The questions that nodes ask each other to find rows that differ (design: mesh, "Anti-entropy"): `POST
 * /api/v1/mesh/ranges`, signed like a push. One question in each message.
 */

/** The number of ranges that the subjects of a namespace are divided into, and buckets of the namespaces of a kind. */
export const RANGE_BUCKETS = 256;

/** The range of a subject, or the bucket of a namespace: the first byte of its SHA-256. */
export function bucketOf(name: string, crypto: Crypto): number {
  return Number.parseInt(crypto.sha256Hex(name).slice(0, 2), 16);
}

/** Digests by kind and namespace, hex. */
export type KindDigests = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Digests of ranges or buckets by number, hex; one without rows is left out. */
export type Ranges = Readonly<Record<string, string>>;

/** Digests of buckets of namespaces by kind. Two nodes compare only the kinds that both name. */
export type BucketDigests = Readonly<Record<string, Ranges>>;

/** A namespace and its digest, hex. */
export type NamespaceDigest = readonly [namespace: string, digest: string];

/** The rows of one kind in one namespace, which have one digest. */
export interface KindNamespace {
  readonly kind: string;
  readonly namespace: string;
}

/** The position of an operation: its origin and sequence. */
export interface OperationPlace {
  readonly origin: Origin;
  readonly seq: number;
}

export type RangesQuestion =
  | {
      /** What are the digests of your buckets of namespaces? */
      readonly kind: 'buckets';
      /** What the asked node may hold, as far as the asker knows. */
      readonly within: Scope;
    }
  | {
      /** Which namespaces of these buckets differ, after one and up to another? */
      readonly kind: 'namespaces';
      readonly within: Scope;
      /** The kind of the rows. */
      readonly of: string;
      readonly buckets: readonly number[];
      /** In the order of UTF-8; null is the beginning or the end. */
      readonly after: string | null;
      readonly upTo: string | null;
      /** All that the asker has between the two in these buckets and in both scopes. */
      readonly digests: readonly NamespaceDigest[];
    }
  | {
      /** Which subjects lie in the ranges that differ? */
      readonly kind: 'subjects';
      readonly of: KindNamespace;
      /** Digests of the asker's ranges. */
      readonly ranges: Ranges;
      /** Ranges before this one were already compared. */
      readonly from: number;
    }
  | {
      /** Send these operations, with the payloads that the asker lacks. */
      readonly kind: 'operations';
      readonly places: readonly OperationPlace[];
    };

/** What the log of the answering node held while it read its digests. */
interface LogThen {
  readonly have: Have;
  /** False when the node wrote meanwhile. */
  readonly still: boolean;
}

export interface BucketsReply extends LogThen {
  /** What the asker may hold, as far as the answering node knows. */
  readonly within: Scope;
  readonly buckets: BucketDigests;
}

export interface NamespacesReply extends LogThen {
  /** Names of namespaces, not more than RANGE_NAMESPACES_MAX. */
  readonly differing: readonly string[];
}

export interface SubjectsReply {
  /** `[subject, digest]` of all subjects in the ranges listed. */
  readonly subjects: readonly (readonly [string, string])[];
  /** The ranges that differ, as far as this answer goes. */
  readonly ranges: readonly number[];
  /** The range to continue with; null when all ranges were compared. */
  readonly next: number | null;
}

export interface OperationsReply {
  readonly operations: readonly WireOperation[];
  /** Operations whose payload the asker may not hold. */
  readonly withheld: readonly OperationPlace[];
}

/** The numbers of the ranges or buckets that differ, in order, starting at one of them. */
export function differingRanges(ours: Ranges, theirs: Ranges, from = 0): number[] {
  const differing: number[] = [];
  for (let bucket = from; bucket < RANGE_BUCKETS; bucket += 1) {
    if (ours[bucket] !== theirs[bucket]) differing.push(bucket);
  }
  return differing;
}

/** Subjects that only one of two lists has, or that have different digests, in order. */
export function differingSubjects(
  ours: readonly (readonly [string, string])[],
  theirs: readonly (readonly [string, string])[],
): string[] {
  const known = new Map(ours);
  const differing = theirs.filter(([subject, digest]) => known.get(subject) !== digest).map(([id]) => id);
  const there = new Set(theirs.map(([subject]) => subject));
  return [...differing, ...ours.map(([subject]) => subject).filter((id) => !there.has(id))].sort();
}
