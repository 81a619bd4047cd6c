import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace } from './ranges.js';
import type { Have } from './wire.js';

/** Commands and queries of a store that the scrub uses; all pages, so that no thread is kept for long. */
export type ScrubCommand = NoteIntegrity | ReindexRows | RebuildIndexes | DropPayloads;
export type ScrubQuery =
  | ScrubRows
  | ScrubTombstones
  | ScrubLog
  | ScrubIndex
  | ScrubTable
  | ScrubTexts
  | ScrubNamespaces
  | IntegrityNotes
  | SupersededPayloads;

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

/** A range of row numbers with what the full text says of it, order-free. */
export interface TextSum {
  readonly range: number;
  readonly sum: readonly [number, number];
}

/** Rows that one range of the full text's comparison spans. */
export const TEXT_RANGE_ROWS = 1024;

/** The words of the index, in order of words, summed up by the rows that they stand in. */
export interface ScrubIndex {
  readonly kind: 'scrub-index';
  /** Words beyond this one; null begins. */
  readonly after: string | null;
  /** Ends behind a word at which there are at least so many places. */
  readonly limit: number;
}

/** Whether the engine's own indexes of a table agree with it: of the first table, by name, beyond this one. */
export interface ScrubTable {
  readonly kind: 'scrub-table';
  readonly after: string;
}

/** What the index should say of some rows, by their texts; and which rows these are. */
export interface ScrubTexts {
  readonly kind: 'scrub-texts';
  readonly range: number;
  /** False leaves the sum out. */
  readonly sums: boolean;
}

/** Indexes the rows of a range anew. */
export interface ReindexRows {
  readonly kind: 'reindex-rows';
  readonly range: number;
}

/** Builds the engine's own indexes of a table anew; rows stay as they are, so nothing is decided. */
export interface RebuildIndexes {
  readonly kind: 'rebuild-indexes';
  readonly table: string;
}

/** What was last found out about the state of the rows. */
export interface NoteIntegrity {
  readonly kind: 'note-integrity';
  readonly name: 'scrub' | 'mesh';
  readonly facts: Readonly<Record<string, unknown>>;
  /** Writes a row of the audit chain in the name of this agent; null for none. */
  readonly audit: { readonly agentId: string; readonly type: string } | null;
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

/** Lets payloads go; headers stay, so that every chain can be verified. */
export interface DropPayloads {
  readonly kind: 'drop-payloads';
  readonly places: readonly OperationPlace[];
}

export interface IntegrityNotes {
  readonly kind: 'integrity-notes';
}

export interface IntegrityNote {
  readonly at: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface ScrubOutcomes {
  readonly 'note-integrity': Readonly<Record<never, never>>;
  readonly 'reindex-rows': { readonly rows: number };
  readonly 'rebuild-indexes': Readonly<Record<string, never>>;
  readonly 'drop-payloads': Readonly<Record<never, never>>;
}

export interface ScrubAnswers {
  readonly 'scrub-rows': ScrubPage<string>;
  readonly 'scrub-tombstones': ScrubPage<Subject>;
  readonly 'scrub-log': ScrubLogPage;
  readonly 'scrub-table': {
    /** The table that was looked at, when its indexes do not agree with it. */
    readonly damaged: string | null;
    readonly next: string | null;
  };
  readonly 'scrub-index': { readonly sums: readonly TextSum[]; readonly next: string | null };
  readonly 'scrub-texts': {
    readonly sum: readonly [number, number];
    /** Changes with the rows of the range. */
    readonly mark: string;
    /** The last range that has rows. */
    readonly last: number;
  };
  readonly 'scrub-namespaces': { readonly sums: readonly KindNamespace[] };
  readonly 'superseded-payloads': {
    readonly places: readonly OperationPlace[];
    /** Null at the end. */
    readonly next: number | null;
  };
  readonly 'integrity-notes': Readonly<Partial<Record<'scrub' | 'mesh', IntegrityNote>>>;
}
