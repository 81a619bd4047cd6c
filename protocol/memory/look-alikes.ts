import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';

/** A memory that says nearly the same as another one. */
export interface NearDuplicate {
  readonly id: string;
  readonly title: string;
  /** The share of what they have in common, up to 1. */
  readonly similarity: number;
}

/** Two rows that say nearly the same. */
export interface LookAlikePair {
  readonly rid: number;
  readonly otherRid: number;
  readonly similarity: number;
}

/** Visible memories of one namespace that say nearly the same as a text, the most similar first. */
export interface FindLookAlikes {
  readonly kind: 'find-look-alikes';
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  /** Leaves out this memory: the write may already be stored. */
  readonly exceptId: string;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** Rows that were written after a place in the log, with the rows that say nearly the same. */
export interface ReviewWritten {
  readonly kind: 'review-written';
  /** A commit sequence; null continues where the last `flag-near-duplicates` ended. */
  readonly after: number | null;
  /** Operations that are read. */
  readonly limit: number;
  /** The comparison ends after this time, at the earliest after one operation; null for no such end. */
  readonly withinMs: number | null;
  readonly now: Instant;
}

/** The memories that are flagged as near duplicates of some memories, as far as the viewer may see them. */
export interface FlaggedDuplicates {
  readonly kind: 'flagged-duplicates';
  readonly ids: readonly string[];
  readonly viewer: Viewer;
  readonly now: Instant;
}
