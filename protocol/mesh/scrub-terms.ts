import type { OperationPlace } from './ranges.js';
import type { Have } from './wire.js';

/** Commands and queries of a store that the scrub uses; all pages, so that no thread is kept for long. */
export type ScrubCommand = NoteIntegrity | NoteSuspects | SettleSuspects | DropPayloads;
export type ScrubQuery =
  | ScrubRows
  | ScrubTombstones
  | ScrubLinks
  | ScrubLog
  | ScrubNamespaces
  | IntegrityNotes
  | ListSuspects
  | SupersededPayloads;

/** Namespaces for which something is counted, those without rows included. */
export interface ScrubNamespaces {
  readonly kind: 'scrub-namespaces';
}

/** Rows of memories that are not what their digest or their operation says. */
export interface ScrubRows {
  readonly kind: 'scrub-rows';
  /** Row numbers beyond this one. */
  readonly after: number;
  readonly limit: number;
}

/** Tombstones that are not what their operation says. */
export interface ScrubTombstones {
  readonly kind: 'scrub-tombstones';
  /** Ids beyond this one. */
  readonly after: string;
  readonly limit: number;
}

export interface ScrubLinks {
  readonly kind: 'scrub-links';
  readonly after: readonly [source: string, target: string, relation: string];
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
  readonly suspects: readonly string[];
  /** Null at the end. */
  readonly next: Next | null;
}

export interface ScrubLogPage extends ScrubPage<number> {
  /** Operations that are damaged or gone. */
  readonly damaged: readonly OperationPlace[];
}

/** Marks subjects whose rows were found damaged; they are repaired in the background. Local, not replicated. */
export interface NoteSuspects {
  readonly kind: 'note-suspects';
  readonly subjects: readonly string[];
}

/** Subjects whose rows were found damaged and wait for their repair, the longest known first. */
export interface ListSuspects {
  readonly kind: 'list-suspects';
  readonly limit: number;
}

export interface Suspect {
  readonly subject: string;
  /** An instant. */
  readonly since: string;
}

/** Ends the repair of suspects. */
export interface SettleSuspects {
  readonly kind: 'settle-suspects';
  /** Their rows are what the log says. */
  readonly sound: readonly string[];
  /** Neither the log nor a peer can tell what their rows were: a row that can be read is taken as it stands. */
  readonly accept: readonly string[];
}

/** `accepted`: rows that were taken as they stood. */
export type IntegrityName = 'scrub' | 'mesh' | 'accepted';

/** What was last found out about the state of the rows. */
export interface NoteIntegrity {
  readonly kind: 'note-integrity';
  readonly name: IntegrityName;
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
  readonly 'note-suspects': Readonly<Record<never, never>>;
  readonly 'settle-suspects': {
    /** Subjects whose row was taken as it stood. */
    readonly accepted: readonly string[];
    /** Subjects that stay suspect: their row cannot be read. */
    readonly kept: readonly string[];
  };
  readonly 'drop-payloads': Readonly<Record<never, never>>;
}

export interface ScrubAnswers {
  readonly 'scrub-rows': ScrubPage<number>;
  readonly 'scrub-tombstones': ScrubPage<string>;
  readonly 'scrub-links': ScrubPage<readonly [string, string, string]>;
  readonly 'scrub-log': ScrubLogPage;
  readonly 'scrub-namespaces': { readonly namespaces: readonly string[] };
  readonly 'superseded-payloads': {
    readonly places: readonly OperationPlace[];
    /** Null at the end. */
    readonly next: number | null;
  };
  readonly 'list-suspects': { readonly suspects: readonly Suspect[] };
  readonly 'integrity-notes': Readonly<Partial<Record<IntegrityName, IntegrityNote>>>;
}
