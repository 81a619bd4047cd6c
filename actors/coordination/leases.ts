import {
  LEASE_ADOPTION_ROUND_MS,
  LEASE_PAGE_ROWS,
  LEASE_ROUND_MS,
  REMOVE_BATCH_MAX,
} from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import {
  type Lease,
  type LeaseTerm,
  leaseKind,
  leaseTermKind,
} from '../../protocol/coordination/lease-kind.js';
import { adoptionKind } from '../../protocol/decide/adoption-kind.js';
import type { FindRecords, FindValue, FoundRecords, Where } from '../../protocol/kinds/find.js';
import { nameOf } from '../../protocol/kinds/home.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/** A term that this process counts. */
interface CountedTerm {
  readonly token: number;
  readonly renewals: number;
  /** On the monotonic clock of this process. */
  readonly endsMs: number;
}

/**
 * Ends leases whose terms have passed (design: leases). A term is counted on the monotonic clock of the process that owns the
 * database, from when it saw the lease or its renewal: a wall clock that jumps ends none, and after a restart each term
 * begins again in full, so it can only end later.
 */
export class LeaseTerms {
  private counted = new Map<string, CountedTerm>();
  /** Leases of other homes, as long as nobody adopts anything. */
  private elsewhere = new Set<string>();
  private adoptions = -1;
  private lookedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  async round(): Promise<NextRound> {
    const terms = await this.all<LeaseTerm>(leaseTermKind.name);
    if (terms !== null) {
      this.count(terms);
      await this.end();
      if (this.clock.monotonicMs() - this.lookedMs >= LEASE_ADOPTION_ROUND_MS) await this.begin();
    }
    return { afterMs: LEASE_ROUND_MS };
  }

  /** Begins the terms that are new, or were renewed, since the last round. */
  private count(terms: readonly LeaseTerm[]): void {
    // Read after the rows: a term may seem to begin later than it did, and never earlier.
    const nowMs = this.clock.monotonicMs();
    const before = this.counted;
    this.counted = new Map(
      terms.map(({ lease_id: id, token, renewals, ttl_secs }) => {
        const known = before.get(id);
        const isSame = known !== undefined && known.token === token && known.renewals === renewals;
        return [id, isSame ? known : { token, renewals, endsMs: nowMs + ttl_secs * 1000 }];
      }),
    );
  }

  private async end(): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    for (const [leaseId, { token, renewals, endsMs }] of this.counted) {
      if (endsMs > nowMs) continue;
      const command = { kind: 'end-lease', leaseId, token, renewals } as const;
      const ended = await this.store.execute(command, { lane: 'background' });
      if (ended.ok && ended.value.ended) this.counted.delete(leaseId);
    }
  }

  /** Looks for held leases without a term here: after an adoption, and in a database that was put back. */
  private async begin(): Promise<void> {
    const adoptions = await this.all<object>(adoptionKind.name);
    const held = await this.held();
    if (adoptions === null || held === null) return;
    this.lookedMs = this.clock.monotonicMs();
    if (adoptions.length !== this.adoptions) this.elsewhere.clear();
    this.adoptions = adoptions.length;
    const counted = new Set([...this.counted.keys()].map((id) => nameOf(id)));
    const unknown = held.filter((id) => !counted.has(id) && !this.elsewhere.has(id));
    for (let from = 0; from < unknown.length; from += REMOVE_BATCH_MAX) {
      const ids = unknown.slice(from, from + REMOVE_BATCH_MAX);
      const begun = await this.store.execute({ kind: 'begin-lease-terms', ids }, { lane: 'background' });
      if (begun.ok) for (const id of begun.value.elsewhere) this.elsewhere.add(id);
    }
  }

  /** The actions that have a held lease, of every home. */
  private async held(): Promise<readonly string[] | null> {
    const held = await this.all<Lease>(leaseKind.name, { holder: { from: '' } });
    return held === null ? null : held.map(({ action_id }) => action_id);
  }

  /** All rows of a kind that meet conditions; null where the store does not answer. */
  private async all<R extends object>(of: string, where: Where = {}): Promise<readonly R[] | null> {
    const rows: R[] = [];
    let after: readonly FindValue[] | null = null;
    do {
      const asked: FindRecords = {
        ...{ kind: 'find-records', of, where, limit: LEASE_PAGE_ROWS, skipDamaged: true, viewer: null },
        ...{ now: instantFromMs(this.clock.nowMs()), ...(after === null ? {} : { after }) },
      };
      const page: Result<FoundRecords> = await this.store.query(asked);
      if (!page.ok) return null;
      rows.push(...(page.value.rows as readonly R[]));
      after = page.value.next;
    } while (after !== null);
    return rows;
  }
}
