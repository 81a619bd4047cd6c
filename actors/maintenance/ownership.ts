import { OWNER_LEASE_MS, OWNER_RENEW_MS, OWNER_WATCH_MS } from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { EndedOwnership } from '../../protocol/maintenance/ownership.js';
import type { Store } from '../../storage/port.js';
import type { Commits } from '../core/commits.js';
import type { NextRound } from '../core/loop.js';

/** Whether this process owns the database, and since which fencing number. */
export interface Ownership {
  readonly owned: boolean;
  readonly fencing: number;
  /** Set when the process before ended without releasing it. */
  readonly tookOver?: true;
}

/** How the processes of a database see each other, and hear of what each commits. */
export interface Presence extends Commits {
  /** True where an ownership lasts as long as its holder is seen, whatever the clocks say. */
  readonly lasts: boolean;
  /** Makes the others see this process; false when that is not possible now. */
  appear(): Promise<boolean>;
  /** For how long the others have seen this process, as a number that each break raises; null while they may not. */
  seen(): number | null;
  /** Whether a holder has ended, as far as this process can tell. */
  hasEnded(holder: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface OwnershipParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  readonly presence: Presence;
  readonly onRound: (ownership: Ownership) => void;
}

/**
 * The ownership lease of one process: a round claims or renews it and reports the outcome. A round that cannot reach
 * the store changes nothing while the last claim certainly still holds. Between two claims, a process without the
 * ownership watches whether the owner still lives, and takes over at once when it does not.
 */
export class OwnershipLease {
  private last: Ownership = { owned: false, fencing: 0 };
  private claimedAtMs = Number.NEGATIVE_INFINITY;
  private nextClaimMs = 0;
  /** Since when the others had seen this process at the last claim that was granted. */
  private claimedSeen: number | null = null;

  constructor(private readonly parts: OwnershipParts) {}

  /** True while nobody else can own the database. */
  get owns(): boolean {
    return this.last.owned && this.isSeen(this.parts.presence.seen());
  }

  async round(): Promise<NextRound> {
    const { presence, onRound } = this.parts;
    if (await presence.appear()) await this.watch(presence.seen());
    else this.expire();
    onRound(this.last);
    return { afterMs: this.last.owned && !presence.lasts ? OWNER_RENEW_MS : OWNER_WATCH_MS };
  }

  private isSeen(seen: number | null): boolean {
    return seen !== null && seen === this.claimedSeen;
  }

  private async watch(seen: number | null): Promise<void> {
    const { store, clock, holder, role, presence } = this.parts;
    const { owned, fencing } = this.last;
    // Another process may have owned the database while this one was not seen.
    const isBroken = owned && !this.isSeen(seen);
    const ended = owned ? (isBroken ? { holder, fencing } : null) : await this.endedOwner();
    const beforeMs = clock.monotonicMs();
    const isDue = beforeMs >= this.nextClaimMs || (owned && !presence.lasts);
    if (!isDue && ended === null) return;
    this.nextClaimMs = beforeMs + OWNER_RENEW_MS;
    const leaseMs = presence.lasts ? null : OWNER_LEASE_MS;
    const claim = { kind: 'claim-ownership', holder, role, leaseMs, ended } as const;
    const result = await store.execute(claim, { timeoutMs: OWNER_RENEW_MS });
    if (!result.ok) {
      this.expire();
      return;
    }
    this.claimedAtMs = beforeMs;
    this.claimedSeen = seen;
    const now = { owned: result.value.owned, fencing: result.value.fencing };
    const tookOver = now.owned && ended !== null && ended.holder !== holder;
    this.last = tookOver ? { ...now, tookOver } : now;
  }

  /** Ends an ownership that was not renewed for too long. */
  private expire(): void {
    if (this.parts.clock.monotonicMs() + OWNER_RENEW_MS >= this.claimedAtMs + OWNER_LEASE_MS)
      this.last = { owned: false, fencing: 0 };
  }

  /** The ownership of a process that has ended; null while its holder lives, or when nobody has it. */
  private async endedOwner(): Promise<EndedOwnership | null> {
    const { store, clock, presence } = this.parts;
    const owner = await store.query({ kind: 'current-owner', nowMs: clock.nowMs() });
    if (!owner.ok) return null;
    const { holder, fencing } = owner.value;
    if (holder === null) {
      this.nextClaimMs = 0;
      return null;
    }
    return (await presence.hasEnded(holder)) ? { holder, fencing } : null;
  }
}
