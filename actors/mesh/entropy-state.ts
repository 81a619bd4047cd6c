/** `behind`: one of the two nodes lacks operations of the other, so their rows may well differ. */
export type Comparison = 'equal' | 'behind' | 'repaired' | 'unequal' | 'failed';

/** After this many comparisons in a row a difference is an alarm: by then a repair should have removed it. */
const UNEQUAL_MAX = 3;
/** A node that lacks more operations than this, and fewer than before, is catching up. */
const CATCHING_UP_MIN = 1000;

export interface NotedComparison {
  readonly comparison: Comparison;
  /** The operations that only one of the two nodes has. */
  readonly gap: number;
  /** Namespaces that differ. */
  readonly differing: readonly string[];
  readonly at: string;
}

/** How the rows of this node compare with one peer's. */
export class EntropyState {
  /** Null before the first comparison that completed. */
  last: Exclude<Comparison, 'failed'> | null = null;
  comparedAt: string | null = null;
  /** Namespaces that differed at the last comparison. */
  differing: readonly string[] = [];
  /** Comparisons in a row during which operations were on their way, except while a node was catching up. */
  behind = 0;
  /** The operations that only one of the two nodes had at the last comparison. */
  private gap = 0;
  private unequal = 0;

  /** True when rows differ although both nodes have the same operations, and a repair failed. */
  get diverged(): boolean {
    return this.unequal >= UNEQUAL_MAX;
  }

  note({ comparison, gap, differing, at }: NotedComparison): void {
    if (comparison === 'failed') return;
    const catchingUp = gap > CATCHING_UP_MIN && gap < this.gap;
    this.gap = gap;
    this.last = comparison;
    this.comparedAt = at;
    this.differing = differing;
    if (comparison !== 'behind') this.behind = 0;
    else if (!catchingUp) this.behind += 1;
    if (comparison === 'unequal') this.unequal += 1;
    // Operations on their way do not count for or against a persistent difference.
    else if (comparison !== 'behind') this.unequal = 0;
  }
}
