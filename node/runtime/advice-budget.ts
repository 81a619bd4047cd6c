import {
  POTENTIAL_CONTRADICTIONS_BURST_MAX,
  POTENTIAL_CONTRADICTIONS_PER_SECOND,
} from '../../protocol/base/limits.js';
import type { Clock, Scheduler } from '../../protocol/base/seams.js';
import type { StoreAdvice } from '../pipeline/call.js';

/**
 * Advice for a store that runs while no other does, while the budget lasts: one token each, refilled by the second.
 * Agents that store now and then always get it; stores under load use up the budget once and are then hardly delayed.
 */
export class AdviceBudget implements StoreAdvice {
  private underWay = 0;
  private tokens = POTENTIAL_CONTRADICTIONS_BURST_MAX;
  private filledAtMs: number;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly scheduler: Pick<Scheduler, 'after'>,
  ) {
    this.filledAtMs = clock.monotonicMs();
  }

  begin(): boolean {
    this.underWay += 1;
    if (this.underWay > 1) return false;
    const nowMs = this.clock.monotonicMs();
    const refill = ((nowMs - this.filledAtMs) / 1000) * POTENTIAL_CONTRADICTIONS_PER_SECOND;
    this.tokens = Math.min(POTENTIAL_CONTRADICTIONS_BURST_MAX, this.tokens + refill);
    this.filledAtMs = nowMs;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  end(): void {
    this.underWay -= 1;
  }

  within<T>(look: Promise<T>, ms: number): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const timer = this.scheduler.after(ms, () => resolve(null), { keepAlive: true });
      look.finally(() => timer.cancel()).then(resolve, reject);
    });
  }
}
