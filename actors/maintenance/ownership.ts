import { OWNER_LEASE_MS, OWNER_RENEW_MS, OWNER_WATCH_MS } from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/** Whether this process owns the database, and since which fencing number. */
export interface Ownership {
  readonly owned: boolean;
  readonly fencing: number;
  /** Set when the process before ended without releasing it. */
  readonly tookOver?: true;
}

/**
 * The ownership lease of one process: a round claims or renews it and reports the outcome. A round that cannot reach
 * the store changes nothing while the last claim certainly still holds. Between two claims, a process without the
 * ownership watches whether the owner's process still lives, and takes over at once when it does not.
 */
export class OwnershipLease {
  private last: Ownership = { owned: false, fencing: 0 };
  private claimedAtMs = Number.NEGATIVE_INFINITY;
  private nextClaimMs = 0;

  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>,
    private readonly holder: string,
    private readonly role: 'daemon' | 'mcp',
    private readonly onRound: (ownership: Ownership) => void,
    /** Whether the process of a holder has ended, as far as this one can tell. */
    private readonly hasEnded: (holder: string) => Promise<boolean> = async () => false,
  ) {}

  async round(): Promise<NextRound> {
    const { holder, role } = this;
    const ended = this.last.owned ? null : await this.endedHolder();
    const beforeMs = this.clock.monotonicMs();
    if (!this.last.owned && ended === null && beforeMs < this.nextClaimMs) {
      this.onRound(this.last);
      return { afterMs: OWNER_WATCH_MS };
    }
    this.nextClaimMs = beforeMs + OWNER_RENEW_MS;
    const result = await this.store.execute(
      { kind: 'claim-ownership', holder, role, leaseMs: OWNER_LEASE_MS, ended },
      { timeoutMs: OWNER_RENEW_MS },
    );
    if (result.ok) {
      this.claimedAtMs = beforeMs;
      const { owned, fencing } = result.value;
      this.last = owned && ended !== null ? { owned, fencing, tookOver: true } : { owned, fencing };
    } else if (this.clock.monotonicMs() + OWNER_RENEW_MS >= this.claimedAtMs + OWNER_LEASE_MS) {
      this.last = { owned: false, fencing: 0 };
    }
    this.onRound(this.last);
    return { afterMs: this.last.owned ? OWNER_RENEW_MS : OWNER_WATCH_MS };
  }

  /** The holder whose process has ended, or that left; null while it lives. */
  private async endedHolder(): Promise<string | null> {
    const owner = await this.store.query({ kind: 'current-owner', nowMs: this.clock.nowMs() });
    if (!owner.ok) return null;
    const { holder } = owner.value;
    if (holder === null) {
      this.nextClaimMs = 0;
      return null;
    }
    return (await this.hasEnded(holder)) ? holder : null;
  }
}
