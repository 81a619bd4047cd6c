/** `behind`: the other has operations that one of the two lacks, so that rows may well differ. */
export type Comparison = 'equal' | 'behind' | 'repaired' | 'unequal' | 'failed';

/** A difference that outlives this many comparisons is not one that somebody is about to repair. */
const UNEQUAL_MAX = 3;

/** How the rows of this node compare with one peer's. */
export class EntropyState {
  /** Null before the first comparison that came to an end. */
  last: Exclude<Comparison, 'failed'> | null = null;
  comparedAt: string | null = null;
  /** Namespaces that differed at the last comparison. */
  differing: readonly string[] = [];
  /** Comparisons in a row at which operations were on their way. */
  behind = 0;
  private unequal = 0;

  /** True for rows that differ, although both nodes have the same operations, and could not be repaired. */
  get diverged(): boolean {
    return this.unequal >= UNEQUAL_MAX;
  }

  note(comparison: Comparison, differing: readonly string[], at: string): void {
    if (comparison === 'failed') return;
    this.last = comparison;
    this.comparedAt = at;
    this.differing = differing;
    this.behind = comparison === 'behind' ? this.behind + 1 : 0;
    if (comparison === 'unequal') this.unequal += 1;
    // Operations on their way say nothing of a difference that stands.
    else if (comparison !== 'behind') this.unequal = 0;
  }
}
