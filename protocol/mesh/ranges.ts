import type { Crypto } from '../seams.js';
import type { Have, WireOperation } from './wire.js';

/**
 * What nodes ask each other to find where their rows differ (design: mesh, "Anti-entropy"):
 * `POST /api/v1/mesh/ranges`, signed like a push. One question in each message.
 */

/** Ranges that the subjects of a namespace are spread over. */
export const RANGE_BUCKETS = 256;

/** The range of a subject: the first byte of its SHA-256. */
export function bucketOf(subject: string, crypto: Crypto): number {
  return crypto.sha256(subject)[0]!;
}

/** Digests by kind and namespace, hex. Two nodes compare only the kinds that both name. */
export type KindDigests = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The rows of one kind in one namespace, which have one digest. */
export interface KindNamespace {
  readonly kind: string;
  readonly namespace: string;
}

/** Where an operation stands in its origin. */
export interface OperationPlace {
  readonly origin: string;
  readonly seq: number;
}

export type RangesQuestion =
  | {
      /** Which namespaces differ? Only those that both may hold are compared. */
      readonly kind: 'namespaces';
      readonly have: Have;
      /** Digests of the asker, with an entry for each kind that it knows. */
      readonly digests: KindDigests;
    }
  | {
      /** Which subjects are there in the ranges that differ? */
      readonly kind: 'subjects';
      readonly of: KindNamespace;
      /** Digests of the asker's ranges by number, hex; a range without rows is left out. */
      readonly ranges: Readonly<Record<string, string>>;
      /** Ranges before this one were compared already. */
      readonly from: number;
    }
  | {
      /** These operations, with what the asker lacks of them. */
      readonly kind: 'operations';
      readonly places: readonly OperationPlace[];
    };

export interface NamespacesReply {
  readonly have: Have;
  /** By kind and namespace, in order. */
  readonly differing: readonly KindNamespace[];
  readonly compared: number;
}

export interface SubjectsReply {
  /** `[subject, digest]` of all subjects in the ranges listed. */
  readonly subjects: readonly (readonly [string, string])[];
  /** Ranges that differ, as far as this answer goes. */
  readonly ranges: readonly number[];
  /** Where to go on; null when all ranges were compared. */
  readonly next: number | null;
}

export interface OperationsReply {
  readonly operations: readonly WireOperation[];
  /** Those whose payload the asker may not hold. */
  readonly withheld: readonly OperationPlace[];
}

/** Ranges as they are compared: digest by number. */
export type Ranges = Readonly<Record<string, string>>;

/** The numbers of the ranges that differ, from one on, in order. */
export function differingRanges(ours: Ranges, theirs: Ranges, from: number): number[] {
  const differing: number[] = [];
  for (let bucket = from; bucket < RANGE_BUCKETS; bucket += 1) {
    if (ours[bucket] !== theirs[bucket]) differing.push(bucket);
  }
  return differing;
}

/** Subjects that one of two lists has not, or has with another digest, in order. */
export function differingSubjects(
  ours: readonly (readonly [string, string])[],
  theirs: readonly (readonly [string, string])[],
): string[] {
  const known = new Map(ours);
  const differing = theirs.filter(([subject, digest]) => known.get(subject) !== digest).map(([id]) => id);
  const there = new Set(theirs.map(([subject]) => subject));
  return [...differing, ...ours.map(([subject]) => subject).filter((id) => !there.has(id))].sort();
}
