import { COMPARISONS_FAILED_MAX } from '../../protocol/base/limits.js';

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
  /** Why it failed; null for any other. */
  readonly problem: string | null;
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
  /** Comparisons in a row that failed. */
  failed = 0;
  /** Why the last one of these failed. */
  private cause: string | null = null;
  /** The operations that only one of the two nodes had at the last comparison. */
  private gap = 0;
  /** The commit sequence up to which the peer was asked for payloads of its operations that are headers only here. */
  headersAsked = 0;
  private unequal = 0;

  /** True when rows differ although both nodes have the same operations, and a repair failed. */
  get diverged(): boolean {
    return this.unequal >= UNEQUAL_MAX;
  }

  /** Why the rows cannot be compared with the peer's; null until several comparisons in a row failed. */
  get problem(): string | null {
    return this.failed >= COMPARISONS_FAILED_MAX ? this.cause : null;
  }

  note({ comparison, gap, differing, problem, at }: NotedComparison): void {
    if (comparison === 'failed') {
      this.failed += 1;
      this.cause = problem ?? 'the comparison was not completed';
      return;
    }
    this.failed = 0;
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
