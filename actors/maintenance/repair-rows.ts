import type { RepairOutcome, RepairSubjects } from '../../protocol/mesh/repair-terms.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import type { Result } from '../../protocol/result.js';

/** Repairs rows; what a peer sent wrongly is `refused`, a failure is one of this node's store. */
export type RepairRows = (
  request: Omit<RepairSubjects, 'kind' | 'operations'> & { readonly operations: readonly WireOperation[] },
) => Promise<Result<RepairOutcome>>;
