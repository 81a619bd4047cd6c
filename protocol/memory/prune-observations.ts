import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { pruneObservations } from './mutations.js';
import { oldestObservation } from './reads.js';

/** Removes the oldest observations. */
export interface PruneObservations {
  readonly kind: 'prune-observations';
  /** Removes observations before this instant. */
  readonly before: string;
  readonly limit: number;
}

/** `more`: rows older than the instant may remain. */
export interface PruneObservationsOutcome {
  readonly more: boolean;
}

/** Prunes the ledger of recalls by age; the ledger is local, so nothing replicates. */
function* decidePrune(command: PruneObservations): Deciding<PruneObservationsOutcome> {
  const { before, limit } = command;
  const oldest = yield* oldestObservation();
  if (oldest === null || oldest >= before) return decided({ more: false }, []);
  return decided({ more: true }, [pruneObservations({ before, limit })]);
}

export const pruneObservationsCommand = defineCommand({
  kind: 'prune-observations',
  decide: decidePrune,
  gate: 'no memory',
});
