import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace } from './ranges.js';
import type { Have } from './wire.js';

/** Commands and queries of a store that the scrub uses; all pages, so that no thread is kept for long. */
export type ScrubCommand = NoteIntegrity | NoteSuspects | SettleSuspects | DropPayloads;
export type ScrubQuery =
  | ScrubRows
  | ScrubTombstones
  | ScrubLog
  | ScrubNamespaces
  | IntegrityNotes
  | ListSuspects
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

/** Marks subjects whose rows were found damaged; they are repaired in the background. Local, not replicated. */
export interface NoteSuspects {
  readonly kind: 'note-suspects';
  readonly subjects: readonly Subject[];
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

/** Ends the repair of suspects. */
export interface SettleSuspects {
  readonly kind: 'settle-suspects';
  /** Their rows are what the log says. */
  readonly sound: readonly Subject[];
  /** Neither the log nor a peer can tell the contents of their rows: a row that can be read is accepted as it stands. */
  readonly accept: readonly Subject[];
}

/** `accepted`: rows that were accepted as they stood. */
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
    /** Subjects whose row was accepted as it stood. */
    readonly accepted: readonly Subject[];
    /** Subjects that stay suspect: their row cannot be read. */
    readonly kept: readonly Subject[];
  };
  readonly 'drop-payloads': Readonly<Record<never, never>>;
}

export interface ScrubAnswers {
  readonly 'scrub-rows': ScrubPage<string>;
  readonly 'scrub-tombstones': ScrubPage<Subject>;
  readonly 'scrub-log': ScrubLogPage;
  readonly 'scrub-namespaces': { readonly sums: readonly KindNamespace[] };
  readonly 'superseded-payloads': {
    readonly places: readonly OperationPlace[];
    /** Null at the end. */
    readonly next: number | null;
  };
  readonly 'list-suspects': { readonly suspects: readonly Suspect[] };
  readonly 'integrity-notes': Readonly<Partial<Record<IntegrityName, IntegrityNote>>>;
}
