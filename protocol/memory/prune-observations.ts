import { type Deciding, decided } from '../decide/deciding.js';
import { read } from '../decide/reads.js';

/** Removes the oldest observations. */
export interface PruneObservations {
  readonly kind: 'prune-observations';
  /** Observed before this instant. */
  readonly before: string;
  readonly limit: number;
}

/** `more`: there may be older rows than the instant still. */
export interface PruneObservationsOutcome {
  readonly more: boolean;
}

/** The ledger of recalls is bounded by age; it is local, so nothing of it is replicated. */
export function* decidePrune(command: PruneObservations): Deciding<PruneObservationsOutcome> {
  const { before, limit } = command;
  const oldest = yield* read('oldest-observation', {});
  if (oldest === null || oldest >= before) return decided({ more: false }, []);
  return decided({ more: true }, [{ mutation: 'prune-observations', before, limit }]);
}
