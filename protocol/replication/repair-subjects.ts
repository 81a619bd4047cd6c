import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace } from '../mesh/ranges.js';
import type { VerifiedOperation } from '../mesh/wire.js';
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
