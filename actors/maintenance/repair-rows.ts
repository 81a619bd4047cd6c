import type { OperationPlace } from '../../protocol/mesh/ranges.js';
import type { RepairOutcome, RepairSubjects } from '../../protocol/mesh/repair-terms.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import type { Result } from '../../protocol/result.js';

/** Repairs rows; what a peer sent wrongly is `refused`, a failure is one of this node's store. */
export type RepairRows = (
  request: Omit<RepairSubjects, 'kind' | 'operations'> & { readonly operations: readonly WireOperation[] },
) => Promise<Result<RepairOutcome>>;

/** What peers gave back. */
export interface AskedBack {
  readonly operations: readonly WireOperation[];
  /** False when a peer that may have more did not answer. */
  readonly complete: boolean;
}

/** Asks the peers for operations, one peer after the other; an operation that no peer has is left out. */
export type AskBack = (places: readonly OperationPlace[]) => Promise<AskedBack>;
