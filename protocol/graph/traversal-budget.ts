import { TRAVERSAL_LINKS_MAX, TRAVERSAL_MS_MAX } from '../base/limits.js';
import type { Clock } from '../base/seams.js';

/** Why a walk through the graph ended before it was complete. */
export type Stopped = 'links' | 'time';

/** Links between two looks at the clock. */
const CLOCK_INTERVAL = 64;

class BudgetSpent extends Error {
  constructor(readonly stopped: Stopped) {
    super('the budget of this walk is spent');
  }
}

/** What one walk may cost. */
export class TraversalBudget {
  private readonly deadlineMs: number;
  private count = 0;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly linksMax = TRAVERSAL_LINKS_MAX,
    msMax = TRAVERSAL_MS_MAX,
  ) {
    this.deadlineMs = clock.monotonicMs() + msMax;
  }

  /** Links that were read, and memories that were visited. */
  get spent(): number {
    return this.count;
  }

  /** Counts a link or a memory that the walk looks at; ends the walk when that was one too many. */
  spend(): void {
    if (this.count >= this.linksMax) throw new BudgetSpent('links');
    this.count += 1;
    if (this.count % CLOCK_INTERVAL === 0 && this.clock.monotonicMs() > this.deadlineMs) {
      throw new BudgetSpent('time');
    }
  }

  /** Ends the walk, because its answer would be too large. */
  exhaust(): never {
    throw new BudgetSpent('links');
  }

  /** Runs a walk; says why it was stopped, or null when it is complete. */
  run(walk: () => void): Stopped | null {
    try {
      walk();
      return null;
    } catch (error) {
      if (error instanceof BudgetSpent) return error.stopped;
      throw error;
    }
  }
}
