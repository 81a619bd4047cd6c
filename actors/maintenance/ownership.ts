import { OWNER_LEASE_MS, OWNER_RENEW_MS } from '../../protocol/limits.js';
import type { Clock } from '../../protocol/seams.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/** Whether this process owns the database, and since which fencing number. */
export interface Ownership {
  readonly owned: boolean;
  readonly fencing: number;
}

/**
 * The ownership lease of one process: each round claims or renews it and reports the outcome. A round that cannot reach
 * the store changes nothing while the last claim certainly still holds.
 */
export class OwnershipLease {
  private last: Ownership = { owned: false, fencing: 0 };
  private claimedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly holder: string,
    private readonly role: 'daemon' | 'mcp',
    private readonly onRound: (ownership: Ownership) => void,
  ) {}

  async round(): Promise<NextRound> {
    const { holder, role } = this;
    const beforeMs = this.clock.monotonicMs();
    const result = await this.store.execute(
      { kind: 'claim-ownership', holder, role, leaseMs: OWNER_LEASE_MS },
      { timeoutMs: OWNER_RENEW_MS },
    );
    if (result.ok) {
      this.claimedAtMs = beforeMs;
      this.last = { owned: result.value.owned, fencing: result.value.fencing };
    } else if (this.clock.monotonicMs() + OWNER_RENEW_MS >= this.claimedAtMs + OWNER_LEASE_MS) {
      this.last = { owned: false, fencing: 0 };
    }
    this.onRound(this.last);
    return { afterMs: OWNER_RENEW_MS };
  }
}
