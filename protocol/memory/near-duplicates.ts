import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import type { LookAlikePair } from './look-alikes.js';
import { flagNearDuplicates } from './mutations.js';

/** Flags rows that say nearly the same; local to this node, and gone with either row. */
export interface FlagNearDuplicates {
  readonly kind: 'flag-near-duplicates';
  readonly pairs: readonly LookAlikePair[];
  /** The place in the log up to which rows were looked at; null leaves it as it is. */
  readonly through: number | null;
}

/** What `flag-near-duplicates` answers. */
export interface FlagNearDuplicatesOutcome {
  readonly flagged: number;
}

/** Flags pairs of rows; a pair of which one row is gone is left out. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideFlagNearDuplicates({
  pairs,
  through,
}: FlagNearDuplicates): Deciding<FlagNearDuplicatesOutcome> {
  return decided({ flagged: pairs.length }, [flagNearDuplicates({ pairs, through })]);
}

export const flagNearDuplicatesCommand = defineCommand({
  kind: 'flag-near-duplicates',
  decide: decideFlagNearDuplicates,
  gate: 'upkeep',
});
