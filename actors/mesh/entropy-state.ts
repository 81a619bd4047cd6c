/** `behind`: one of the two nodes lacks operations of the other, so their rows may well differ. */
export type Comparison = 'equal' | 'behind' | 'repaired' | 'unequal' | 'failed';

/** After this many comparisons in a row a difference is an alarm: by then a repair should have removed it. */
const UNEQUAL_MAX = 3;

/** How the rows of this node compare with one peer's. */
export class EntropyState {
  /** Null before the first comparison that completed. */
  last: Exclude<Comparison, 'failed'> | null = null;
  comparedAt: string | null = null;
  /** Namespaces that differed at the last comparison. */
  differing: readonly string[] = [];
  /** Comparisons in a row during which operations were on their way. */
  behind = 0;
  private unequal = 0;

  /** True when rows differ although both nodes have the same operations, and a repair failed. */
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
    // Operations on their way do not count for or against a persistent difference.
    else if (comparison !== 'behind') this.unequal = 0;
  }
}
