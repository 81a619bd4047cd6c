import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { changeRows, dropRows, localRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { recallKind } from './recall-kind.js';

/** Removes the oldest observations. */
export interface PruneObservations {
  readonly kind: 'prune-observations';
  /** Removes observations before this instant. */
  readonly before: string;
  readonly limit: number;
  /** True leaves nothing of the others but their rows. */
  readonly untraced?: true;
}

/** `more`: rows older than the instant may remain. */
export interface PruneObservationsOutcome {
  readonly more: boolean;
}

const NO_TRACE = {
  ...{ query: null, namespace: null, words_only: null, answered: null, weak: null },
  ...{ below: null, took_ms: null, used: null, uses: null },
} as const;

/** Prunes the ledger of recalls by age; the ledger is local, so nothing replicates. Numbers of rows grow with time. */
function* decidePrune(command: PruneObservations): Deciding<PruneObservationsOutcome> {
  const { before, limit, untraced } = command;
  const oldest = yield* localRows(recallKind, { limit, only: ['seq', 'observed_at'] });
  const last = oldest.findLast(({ observed_at }) => observed_at < before);
  const changes: Mutation[] = last === undefined ? [] : [dropRows(recallKind, { seq: { to: last.seq } })];
  if (untraced) {
    changes.push(dropRows(recallKind, { answered: 0 }));
    changes.push(changeRows(recallKind, { answered: { from: 0 } }, NO_TRACE));
  }
  const more = oldest[0] !== undefined && oldest[0].observed_at < before;
  return decided({ more }, changes);
}

export const pruneObservationsCommand = defineCommand({
  kind: 'prune-observations',
  decide: decidePrune,
  gate: 'no memory',
});
