import { defineCommand } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import type { Subject } from '../kinds/kind.js';
import { dropSuspects, noteSuspects } from './mutations.js';

/** Marks subjects whose rows were found damaged; they are repaired in the background. Local, not replicated. */
export interface NoteSuspects {
  readonly kind: 'note-suspects';
  readonly subjects: readonly Subject[];
}

/** Removes subjects from the suspects: their rows match the log. */
export interface SettleSuspects {
  readonly kind: 'settle-suspects';
  readonly subjects: readonly Subject[];
}

/** Marks subjects whose rows were found damaged. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideNoteSuspects({ subjects }: NoteSuspects): Deciding<Done> {
  return decided({}, [noteSuspects({ subjects })]);
}

/** Ends the repair of suspects. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideSettleSuspects({ subjects }: SettleSuspects): Deciding<Done> {
  return decided({}, [dropSuspects({ subjects })]);
}

export const noteSuspectsCommand = defineCommand({
  kind: 'note-suspects',
  decide: decideNoteSuspects,
  gate: 'upkeep',
});

export const settleSuspectsCommand = defineCommand({
  kind: 'settle-suspects',
  decide: decideSettleSuspects,
  gate: 'upkeep',
});
