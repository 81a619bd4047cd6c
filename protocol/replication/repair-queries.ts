import type { Ask } from '../ask.js';
import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace, Ranges } from '../mesh/ranges.js';
import type { Have, WireOperation } from '../mesh/wire.js';
import type { IntegrityName } from './scrub.js';

/** Queries of anti-entropy, the scrub and retention; all pages, so that no thread is kept for long, each with its answer. */
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
      /** Null at the end. */
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

/** Kinds and namespaces for which something is counted, those without rows included. */
export interface ScrubNamespaces {
  readonly kind: 'scrub-namespaces';
}

/** Rows of a kind that are not what their digest or their operation says. */
export interface ScrubRows {
  readonly kind: 'scrub-rows';
  /** The kind of the rows. */
  readonly of: string;
  /** Rows beyond this place, as the page before names it; null begins. */
  readonly after: string | null;
  readonly limit: number;
}

/** Tombstones that are not what their operation says. */
export interface ScrubTombstones {
  readonly kind: 'scrub-tombstones';
  /** Subjects beyond this one; null begins. */
  readonly after: Subject | null;
  readonly limit: number;
}

/** Operations that are not what their hash says, or are gone, and those that left no trace in the rows. */
export interface ScrubLog {
  readonly kind: 'scrub-log';
  /** Local positions beyond this one. */
  readonly after: number;
  readonly limit: number;
}

export interface ScrubPage<Next> {
  readonly looked: number;
  /** Subjects to be looked at closely. */
  readonly suspects: readonly Subject[];
  /** Null at the end. */
  readonly next: Next | null;
}

export interface ScrubLogPage extends ScrubPage<number> {
  /** Operations that are damaged or gone. */
  readonly damaged: readonly OperationPlace[];
}

/** Subjects whose rows were found damaged and wait for their repair, the longest known first. */
export interface ListSuspects {
  readonly kind: 'list-suspects';
  readonly limit: number;
}

export interface Suspect {
  readonly subject: Subject;
  /** An instant. */
  readonly since: string;
}

/**
 * Payloads that nothing needs any more: of versions that another one has seen since before `before`, that everybody has, and
 * that no conflict lists. The versions that make a row or a tombstone are never among them.
 */
export interface SupersededPayloads {
  readonly kind: 'superseded-payloads';
  /** A stamp. */
  readonly before: string;
  /** What every member has. Null for a node without peers. */
  readonly everyoneHas: Have | null;
  /** Local positions beyond this one. */
  readonly after: number;
  /** Operations that are looked at. */
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

/** Subjects of some ranges of a namespace with the digests of their rows, by subject. */
export interface ReadRangeSubjects {
  readonly kind: 'read-range-subjects';
  readonly of: KindNamespace;
  /** In order. */
  readonly ranges: readonly number[];
  /** Ends behind a range at which there are at least so many. */
  readonly limit: number;
}

/** Operations of the log by their places, as far as there are any; a payload that is not its hash's is null. */
export interface ReadLogged {
  readonly kind: 'read-logged';
  readonly places: readonly OperationPlace[];
  readonly bytesMax: number;
}
