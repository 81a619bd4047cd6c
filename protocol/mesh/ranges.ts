import type { Origin } from '../meanings.js';
import type { Crypto } from '../seams.js';
import type { Have, WireOperation } from './wire.js';

/**
 * The questions that nodes ask each other to find rows that differ (design: mesh, "Anti-entropy"): `POST
 * /api/v1/mesh/ranges`, signed like a push. One question in each message.
 */

/** The number of ranges that the subjects of a namespace are divided into. */
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

/** The position of an operation: its origin and sequence. */
export interface OperationPlace {
  readonly origin: Origin;
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
      /** Which subjects lie in the ranges that differ? */
      readonly kind: 'subjects';
      readonly of: KindNamespace;
      /** Digests of the asker's ranges by number, hex; a range without rows is left out. */
      readonly ranges: Readonly<Record<string, string>>;
      /** Ranges before this one were already compared. */
      readonly from: number;
    }
  | {
      /** Send these operations, with the payloads that the asker lacks. */
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

/** The digests of ranges, by number. */
export type Ranges = Readonly<Record<string, string>>;

/** The numbers of the ranges that differ, in order, starting at one of them. */
export function differingRanges(ours: Ranges, theirs: Ranges, from: number): number[] {
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
