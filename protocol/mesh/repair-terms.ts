import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace, Ranges } from './ranges.js';
import type { VerifiedOperation, WireOperation } from './wire.js';

/** Commands and queries of a store that anti-entropy and the scrub use. */
export type RepairCommand = RepairSubjects;
export type RepairQuery = ReadRanges | ReadRangeSubjects | ReadLogged;

/**
 * Brings rows to what the operations of their subjects in the log mean, and lets the log take back what it has lost.
 * A row that is right stays untouched, so the command may be given any subject at any time.
 */
export interface RepairSubjects {
  readonly kind: 'repair-subjects';
  readonly subjects: readonly Subject[];
  /**
   * Operations from a peer. One is taken only when its header's hash is the one that the log's chain demands at its
   * place; its subject is looked at as well.
   */
  readonly operations: readonly VerifiedOperation[];
  /** Ids of operations whose payload this node may not hold: what they made is elsewhere, and no row here. */
  readonly withheld: readonly string[];
  /** Digests that are counted again from the rows. */
  readonly recount: readonly KindNamespace[];
  /** Sums up again what the rows of these namespaces use of their holders' quotas. */
  readonly recountQuotas?: boolean;
  /** True finds, and changes nothing. */
  readonly dryRun: boolean;
}

/** A repair that asks for nothing but what is given. */
export const repairOf = (request: Partial<RepairSubjects>): RepairSubjects => ({
  subjects: [],
  operations: [],
  withheld: [],
  recount: [],
  dryRun: false,
  ...request,
  kind: 'repair-subjects',
});

/**
 * `damaged`: row or digest say something else than the log; `missing`: there was no row; `surplus`: there was one that no
 * operation made; `elsewhere`: the memory moved out of what this node may hold.
 */
export type RowProblem = 'damaged' | 'missing' | 'surplus' | 'elsewhere';

export interface RepairedRow {
  readonly kind: string;
  readonly subject: string;
  readonly namespace: string;
  readonly problem: RowProblem;
}

/** An operation without whose payload a subject cannot be settled. */
export interface MissingPayload extends OperationPlace {
  readonly kind: string;
  readonly subject: string;
  readonly namespace: string;
}

export interface RepairOutcome {
  readonly repaired: readonly RepairedRow[];
  readonly missing: readonly MissingPayload[];
  /** Operations of the command that the log took back. */
  readonly restored: number;
  /** Those that do not fit to the log. */
  readonly refused: number;
  /** Subjects that were right. */
  readonly sound: number;
  /** Digests that were not the sum of their rows. */
  readonly recounted: readonly KindNamespace[];
  /** Operations that have an effect and that this release cannot read; the rows of their subjects stay as they are. */
  readonly unreadable: readonly MissingPayload[];
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

export interface RepairOutcomes {
  readonly 'repair-subjects': RepairOutcome;
}

export interface RepairAnswers {
  readonly 'read-ranges': { readonly ranges: Ranges };
  readonly 'read-range-subjects': {
    readonly subjects: readonly (readonly [string, string])[];
    /** The ranges that were read. */
    readonly ranges: readonly number[];
  };
  readonly 'read-logged': { readonly operations: readonly WireOperation[] };
}
