import type { OperationPlace } from '../../protocol/mesh/ranges.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import type { RepairOutcome, RepairSubjects } from '../../protocol/replication/repair-subjects.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import type { Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';

/** What peers gave back. */
export interface AskedBack {
  readonly operations: readonly WireOperation[];
  /** False when a peer that may have more did not answer. */
  readonly complete: boolean;
}

/** Asks the peers for operations, one peer after the other; an operation that no peer has is left out. */
export type AskBack = (places: readonly OperationPlace[]) => Promise<AskedBack>;

/** What repairs rows: the store, with what verifies the operations that a peer gave back for it. */
export interface RowRepair {
  readonly store: Store;
  readonly verifier: Pick<Verifier, 'singles'>;
}

/** What is to be repaired; its operations are not verified yet. */
export interface RepairRequest extends Omit<RepairSubjects, 'kind' | 'operations'> {
  readonly operations: readonly WireOperation[];
}

/**
 * Brings rows to what the log means, with operations that a peer gave back: those are verified like a push, and one that
 * does not hold is left out. A failure is one of this node's store.
 */
export function repairRows(
  { store, verifier }: RowRepair,
  request: RepairRequest,
): Promise<Result<RepairOutcome>> {
  const operations = verifier.singles(request.operations);
  return store.execute({ ...request, kind: 'repair-subjects', operations }, { lane: 'background' });
}
