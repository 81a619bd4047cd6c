import type { SubjectId } from '../base/meanings.js';
import type { Subject } from '../kinds/kind.js';
import type { KindNamespace, OperationPlace } from '../log/ranges.js';
import type { VerifiedOperation } from '../log/wire-operation.js';
/**
 * Makes rows match the operations of their subjects in the log, and restores lost operations of the log. A correct row
 * stays untouched, so any subject may be repaired at any time.
 */
export interface RepairSubjects {
  readonly kind: 'repair-subjects';
  readonly subjects: readonly Subject[];
  /**
   * Operations from a peer. The log takes one only when the hash of its header is the hash that the chain demands at
   * its position. The repair then checks its subject too.
   */
  readonly operations: readonly VerifiedOperation[];
  /** Ids of operations whose payload this node may not hold: their subject moved out of scope and has no row here. */
  readonly withheld: readonly string[];
  /** Digests to count again from the rows. */
  readonly recount: readonly KindNamespace[];
  /** True also sums up the quota use of the rows in these namespaces again. */
  readonly recountQuotas?: boolean;
  /** Set when operations got other names, by this node or by a notice of another: a removal may take effect only now. */
  readonly renamed?: 'here' | 'by-notice';
  /** True only reports; nothing changes. */
  readonly dryRun: boolean;
}

/** A repair that does only what the request names. */
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
 * `damaged`: the row or digest contradicts the log; `missing`: there was no row; `surplus`: there was a row that no
 * operation made; `elsewhere`: the memory moved out of what this node may hold.
 */
export type RowProblem = 'damaged' | 'missing' | 'surplus' | 'elsewhere';

export interface RepairedRow {
  readonly kind: string;
  readonly subject: SubjectId;
  readonly namespace: string;
  readonly problem: RowProblem;
}

/** An operation whose missing payload blocks the repair of a subject. */
export interface MissingPayload extends OperationPlace {
  readonly kind: string;
  readonly subject: SubjectId;
  readonly namespace: string;
}

export interface RepairOutcome {
  readonly repaired: readonly RepairedRow[];
  readonly missing: readonly MissingPayload[];
  /** Operations of the command that the log took back. */
  readonly restored: number;
  /** Operations of the command that do not fit the log. */
  readonly refused: number;
  /** The number of subjects with correct rows. */
  readonly sound: number;
  /** Digests that were not the sum of their rows. */
  readonly recounted: readonly KindNamespace[];
  /** Operations that have an effect and that this release cannot read; the rows of their subjects stay as they are. */
  readonly unreadable: readonly MissingPayload[];
}
