import type { Result } from '../../protocol/base/result.js';
import type { OperationPlace } from '../../protocol/log/ranges.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import type { RepairOutcome, RepairSubjects } from '../../protocol/replication/repair-subjects.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import type { Store } from '../../storage/port.js';

/** Asks the peers for operations, one peer after the other; an operation that no peer has is left out. */
export type AskBack = (places: readonly OperationPlace[]) => Promise<readonly WireOperation[]>;

/** The repair of rows: the store, and the verification of operations that a peer sent for it. */
export interface RowRepair {
  readonly store: Store;
  readonly verifier: Pick<Verifier, 'ready' | 'singles'>;
}

/** The rows to repair; their operations are not verified yet. */
export interface RepairRequest extends Omit<RepairSubjects, 'kind' | 'operations'> {
  readonly operations: readonly WireOperation[];
}

/**
 * Makes rows match the log, with operations that a peer sent. Those are verified like a push, and invalid ones are left
 * out. A failure comes from this node's store.
 */
export async function repairRows(
  { store, verifier }: RowRepair,
  request: RepairRequest,
): Promise<Result<RepairOutcome>> {
  await verifier.ready();
  const operations = verifier.singles(request.operations);
  return store.execute({ ...request, kind: 'repair-subjects', operations }, { lane: 'background' });
}
