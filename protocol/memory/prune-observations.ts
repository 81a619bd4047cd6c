import type { Outcomes, PruneObservations } from '../commands.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { read } from '../decide/reads.js';

/** The ledger of recalls is bounded by age; it is local, so nothing of it is replicated. */
export function* decidePrune(command: PruneObservations): Deciding<Outcomes['prune-observations']> {
  const { before, limit } = command;
  const oldest = yield* read('oldest-observation', {});
  if (oldest === null || oldest >= before) return decided({ more: false }, []);
  return decided({ more: true }, [{ mutation: 'prune-observations', before, limit }]);
}
