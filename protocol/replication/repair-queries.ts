import type { Ask } from '../base/ask.js';
import type { Instant } from '../base/meanings.js';
import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace, Ranges } from '../log/ranges.js';
import type { Have, WireOperation } from '../log/wire-operation.js';
import type { IntegrityName } from './integrity-commands.js';

/**
 * Queries of anti-entropy, the scrub and retention, each with its answer. All of them answer in pages, so none blocks a
 * thread for long.
 */
export interface RepairQueries {
  readonly 'scrub-namespaces': Ask<ScrubNamespaces, { readonly sums: readonly KindNamespace[] }>;
  readonly 'scrub-rows': Ask<ScrubRows, ScrubPage<string>>;
  readonly 'scrub-tombstones': Ask<ScrubTombstones, ScrubPage<Subject>>;
  readonly 'scrub-log': Ask<ScrubLog, ScrubLogPage>;
  readonly 'list-suspects': Ask<ListSuspects, { readonly suspects: readonly Suspect[] }>;
  readonly 'superseded-payloads': Ask<
    SupersededPayloads,
    {
      readonly places: readonly OperationPlace[];
      /** Null on the last page. */
      readonly next: number | null;
    }
  >;
  readonly 'integrity-notes': Ask<IntegrityNotes, Readonly<Partial<Record<IntegrityName, IntegrityNote>>>>;
  readonly 'read-ranges': Ask<ReadRanges, { readonly ranges: Ranges }>;
  readonly 'read-range-subjects': Ask<
    ReadRangeSubjects,
    {
      readonly subjects: readonly (readonly [string, string])[];
      /** The ranges that were read. */
      readonly ranges: readonly number[];
    }
  >;
  readonly 'read-logged': Ask<ReadLogged, { readonly operations: readonly WireOperation[] }>;
}

/** Every kind and namespace with a counter, also without rows. */
export interface ScrubNamespaces {
  readonly kind: 'scrub-namespaces';
}

/** Rows of a kind that do not match their digest or their operation. */
export interface ScrubRows {
  readonly kind: 'scrub-rows';
  /** The kind of the rows. */
  readonly of: string;
  /** Rows after this position, as the page before names it; null starts at the beginning. */
  readonly after: string | null;
  readonly limit: number;
}

/** Tombstones that do not match their operation. */
export interface ScrubTombstones {
  readonly kind: 'scrub-tombstones';
  /** Subjects after this one; null starts at the beginning. */
  readonly after: Subject | null;
  readonly limit: number;
}

/** Operations that are lost or do not match their hash, and operations that left no trace in the rows. */
export interface ScrubLog {
  readonly kind: 'scrub-log';
  /** Positions in this node's log after this one. */
  readonly after: number;
  readonly limit: number;
}

export interface ScrubPage<Next> {
  readonly looked: number;
  /** Subjects to check closely. */
  readonly suspects: readonly Subject[];
  /** Null on the last page. */
  readonly next: Next | null;
}

export interface ScrubLogPage extends ScrubPage<number> {
  /** Operations that are damaged or lost. */
  readonly damaged: readonly OperationPlace[];
}

/** Subjects whose rows were found damaged and wait for repair, the longest known first. */
export interface ListSuspects {
  readonly kind: 'list-suspects';
  readonly limit: number;
}

export interface Suspect {
  readonly subject: Subject;
  /** An instant. */
  readonly since: Instant;
}

/**
 * Payloads that no node needs any more: another version has superseded them since before `before`, every member has
 * them, and no conflict lists them. The payloads behind a row or a tombstone are never among them.
 */
export interface SupersededPayloads {
  readonly kind: 'superseded-payloads';
  /** A stamp. */
  readonly before: string;
  /** The operations that every member has. Null for a node without peers. */
  readonly everyoneHas: Have | null;
  /** Positions in this node's log after this one. */
  readonly after: number;
  /** How many operations to look at. */
  readonly limit: number;
}

export interface IntegrityNotes {
  readonly kind: 'integrity-notes';
}

export interface IntegrityNote {
  readonly at: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Digests of the ranges of a namespace. */
export interface ReadRanges {
  readonly kind: 'read-ranges';
  readonly of: KindNamespace;
}

/** Subjects in some ranges of a namespace, each with the digest of its row. */
export interface ReadRangeSubjects {
  readonly kind: 'read-range-subjects';
  readonly of: KindNamespace;
  /** In ascending order. */
  readonly ranges: readonly number[];
  /** The page ends after the range in which it reaches this many subjects. */
  readonly limit: number;
}

/**
 * Operations of the log by their positions, as far as the log has them; a payload that does not match its hash is null.
 */
export interface ReadLogged {
  readonly kind: 'read-logged';
  readonly places: readonly OperationPlace[];
  readonly bytesMax: number;
}
