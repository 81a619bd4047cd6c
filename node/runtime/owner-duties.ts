import type { ChildSpec } from '../../actors/core/child.js';
import { loopChild, type Wake } from '../../actors/core/loop.js';
import { approvalsRound, dropDecided } from '../../actors/maintenance/approvals.js';
import { expiryRound } from '../../actors/maintenance/expiry.js';
import { nearDuplicatesRound, reviewFromStart } from '../../actors/maintenance/near-duplicates.js';
import { observationsRound } from '../../actors/maintenance/observations.js';
import { type Ownership, OwnershipLease } from '../../actors/maintenance/ownership.js';
import { ReindexJob } from '../../actors/maintenance/reindex.js';
import {
  CHANGE_POLL_MS,
  GC_INTERVAL_MS,
  NEAR_DUPLICATE_REST,
  NEAR_DUPLICATE_REST_MAX_MS,
  NEAR_DUPLICATE_REST_WRITING,
  NEAR_DUPLICATE_ROUND_MS,
  OWNER_TAKEOVER_MS,
  QUERY_EMBED_COLD_WAIT_MS,
} from '../../protocol/base/limits.js';
import type { Clock, Log, Random, Scheduler } from '../../protocol/base/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { Store } from '../../storage/port.js';
import type { SocketNames } from '../private-socket.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import type { OwnedSemantics } from '../semantics/owned-semantics.js';
import { hasEnded } from './holder-ended.js';
import type { LocalSocket } from './local-socket.js';
import type { Semantics } from './open-semantics.js';

/** The parts that the duties of an owner need. */
export interface OwnerDutiesParts {
  readonly store: Store;
  readonly role: 'daemon' | 'mcp';
  readonly holder: string;
  /** Where the sockets of the holders are. */
  readonly sockets: SocketNames;
  /** Makes the socket at which this process takes the calls of others while it owns the database; absent for a daemon. */
  readonly socket?: () => LocalSocket;
  readonly archive: boolean;
  /** Days after which archived memories are purged; null keeps them. */
  readonly archiveMaxDays?: number | null;
  /** False where the operator wants no look for near duplicates. */
  readonly comparesRows: boolean;
  /** Days that the ledger of recalls is kept. */
  readonly observationsTtlDays: number;
  /** True while the peers say that the clock is ahead: nothing expires by such a clock. */
  readonly isClockAhead?: () => boolean;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
  /** Null in keyword mode. */
  readonly semantic: Semantics | null;
}

/** How often a process that does not own the database checks whether it should. */
const NOT_OWNER_MS = 1000;
/** A node is busy with writes until so long after the last one. */
const BUSY_MS = 250;
const DAY_MS = 86_400_000;
const TAKEOVER_WAITS = { coldMs: QUERY_EMBED_COLD_WAIT_MS, vectorsMs: QUERY_EMBED_COLD_WAIT_MS };
/** How long calls of other processes are answered after the ownership has ended. */
const OWNER_DRAIN_MS = 2000;
/** A lease that cannot be released in this time expires by itself. */
const RELEASE_WAIT_MS = 2000;

/**
 * The duties of the process that owns the database: embedding, expiry, and taking the calls of other processes (design:
 * architecture). They begin and end with the ownership.
 */
export class OwnerDuties {
  private ownership: Ownership = { owned: false, fencing: 0 };
  private local: OwnedSemantics | null = null;
  private socket: LocalSocket | null = null;
  private mark = -1;
  /** When the last change of the log was seen, on the monotonic clock. */
  private changedMs = Number.NEGATIVE_INFINITY;
  private closed = false;
  private ownershipWake: Wake | null = null;
  private begun: Promise<void> = Promise.resolve();
  /** Who waits for the next look at the ownership. */
  private waiting: (() => void)[] = [];

  constructor(private readonly parts: OwnerDutiesParts) {}

  get owned(): boolean {
    return this.ownership.owned;
  }

  /** The loops, for a supervisor. */
  children(): ChildSpec[] {
    const { parts } = this;
    const { store, scheduler, clock } = parts;
    const common = { policy: BACKGROUND_POLICY, scheduler, clock };
    const backfill = loopChild({
      ...common,
      id: 'backfill',
      round: async () => (this.owned && this.local !== null ? this.local.round() : { afterMs: NOT_OWNER_MS }),
    });
    const expiry = this.expiry();
    const observations = loopChild({
      ...common,
      id: 'observations',
      firstAfterMs: 10_000,
      round: async () =>
        this.owned
          ? observationsRound(
              store,
              instantAfter(instantFromMs(clock.nowMs()), -parts.observationsTtlDays * 86_400),
            )
          : { afterMs: NOT_OWNER_MS },
    });
    const approvals = this.approvals();
    const job = new ReindexJob(store, parts.log);
    const reindex = loopChild({
      ...common,
      id: 'reindex',
      round: async () => (this.owned ? job.round() : { afterMs: NOT_OWNER_MS }),
    });
    const report = (next: Ownership) => {
      const isNew = next.owned !== this.owned;
      this.change(next);
      if (isNew) {
        backfill.wake.now();
        reindex.wake.now();
      }
      for (const resolve of this.waiting.splice(0)) resolve();
    };
    const { semantic } = parts;
    const ended = (holder: string) => hasEnded(holder, parts.sockets);
    const lease = new OwnershipLease(store, clock, parts.holder, parts.role, report, ended);
    const ownership = loopChild({
      ...common,
      id: 'ownership',
      round: () => lease.round(),
      onStop: () => this.release(),
    });
    const duplicates = this.duplicates();
    this.ownershipWake = ownership.wake;
    semantic?.role.whenUnreachable(() => this.takeOver());
    const changes = loopChild({
      ...common,
      id: 'changes',
      round: async () => {
        // Any process may have written; the position of the log shows it, and reading it costs microseconds.
        const position = await store.query({ kind: 'log-position' });
        const mark = position.ok ? position.value.commitSequence : this.mark;
        if (mark !== this.mark) {
          this.changedMs = clock.monotonicMs();
          backfill.wake.now();
          duplicates.wake.now();
        }
        this.mark = mark;
        return { afterMs: CHANGE_POLL_MS };
      },
    });
    return [
      ownership.spec,
      expiry.spec,
      observations.spec,
      approvals.spec,
      reindex.spec,
      ...(semantic === null ? [] : [backfill.spec]),
      ...(parts.comparesRows ? [duplicates.spec] : []),
      ...(semantic === null && !parts.comparesRows ? [] : [changes.spec]),
    ];
  }

  private expiry() {
    const { parts } = this;
    const { store, scheduler, clock } = parts;
    return loopChild({
      policy: BACKGROUND_POLICY,
      scheduler,
      clock,
      id: 'expiry',
      // The first round comes soon after the start: memories that expired while the node was down need not wait longer.
      firstAfterMs: 5000,
      round: async () =>
        this.owned && parts.isClockAhead?.() !== true
          ? expiryRound(store, parts.archive, this.purgeBefore())
          : { afterMs: NOT_OWNER_MS },
    });
  }

  private approvals() {
    const { store, scheduler, clock, isClockAhead } = this.parts;
    let begun = false;
    let dropsAtMs = Number.NEGATIVE_INFINITY;
    return loopChild({
      policy: BACKGROUND_POLICY,
      scheduler,
      clock,
      id: 'approvals',
      round: async () => {
        if (!this.owned) return { afterMs: NOT_OWNER_MS };
        if (!begun) begun = (await store.execute({ kind: 'end-sessions' }, { lane: 'background' })).ok;
        // A clock that is ahead would take decisions of today for old ones.
        if (clock.monotonicMs() >= dropsAtMs && isClockAhead?.() !== true) {
          const isMore = await dropDecided(store, clock);
          if (!isMore) dropsAtMs = clock.monotonicMs() + GC_INTERVAL_MS;
        }
        return approvalsRound(store, clock);
      },
    });
  }

  private duplicates() {
    const { store, scheduler, clock } = this.parts;
    const place = reviewFromStart();
    let restsUntilMs = Number.NEGATIVE_INFINITY;
    return loopChild({
      policy: BACKGROUND_POLICY,
      scheduler,
      clock,
      id: 'near-duplicates',
      round: async () => {
        if (!this.owned) return { afterMs: NOT_OWNER_MS };
        const beganMs = clock.monotonicMs();
        // Every write wakes the loop; it must leave most of a busy node to the stores, and of the reader to recalls.
        if (beganMs < restsUntilMs) return { afterMs: restsUntilMs - beganMs };
        const { afterMs } = await nearDuplicatesRound(
          store,
          place,
          instantFromMs(clock.nowMs()),
          NEAR_DUPLICATE_ROUND_MS,
        );
        const nowMs = clock.monotonicMs();
        const rests = nowMs - this.changedMs < BUSY_MS ? NEAR_DUPLICATE_REST_WRITING : NEAR_DUPLICATE_REST;
        const restMs = Math.min((nowMs - beganMs) * rests, NEAR_DUPLICATE_REST_MAX_MS);
        restsUntilMs = nowMs + restMs;
        return { afterMs: Math.max(afterMs, restMs) };
      },
    });
  }

  /** Ends what the ownership began; a later granted claim begins nothing. */
  async close(): Promise<void> {
    this.closed = true;
    await this.end();
  }

  /**
   * Looks at once whether the owner has ended, and resolves when this process answers in its place. Where the owner
   * lives, and takes no calls of this process, an encoder is opened here for its questions alone.
   */
  private async takeOver(): Promise<void> {
    const looked = new Promise<true>((resolve) => this.waiting.push(() => resolve(true)));
    const late = new Promise<false>((resolve) => {
      this.parts.scheduler.after(OWNER_TAKEOVER_MS, () => resolve(false));
    });
    this.ownershipWake?.now();
    const isKnown = await Promise.race([looked, late]);
    await this.begun;
    const { semantic } = this.parts;
    if (!isKnown || semantic === null || this.local !== null || this.closed) return;
    this.local = semantic.openLocal({ batchRows: 1, plans: false });
    semantic.role.own(this.local);
  }

  private purgeBefore(): string | null {
    const { archiveMaxDays = null, clock } = this.parts;
    return archiveMaxDays === null ? null : instantFromMs(clock.nowMs() - archiveMaxDays * DAY_MS);
  }

  private change(next: Ownership): void {
    const before = this.ownership;
    this.ownership = next;
    if (before.owned === next.owned && before.fencing === next.fencing) return;
    if (!before.owned && !next.owned) return;
    this.parts.log.info({ owned: next.owned, fencing: next.fencing }, 'database ownership changed');
    // Another fencing number means that another process owned the database in between, and took over our socket.
    const ended = this.end();
    this.begun = next.owned ? ended.then(() => this.begin(next.tookOver === true)) : ended;
  }

  private async begin(tookOver: boolean): Promise<void> {
    if (this.closed) return;
    const { semantic } = this.parts;
    const socket = this.parts.socket?.() ?? null;
    this.socket = socket;
    if (semantic !== null) {
      // The one before was used, so the next question comes soon, and waits for the index as for the model.
      const local = semantic.openLocal(tookOver ? { waits: TAKEOVER_WAITS } : {});
      this.local = local;
      semantic.role.own(local);
      void (tookOver ? local.warm() : local.open());
    }
    await socket?.open();
    // The ownership may have ended meanwhile.
    if (this.socket !== socket) await socket?.close();
  }

  private async end(): Promise<void> {
    const { local, socket } = this;
    this.local = null;
    this.socket = null;
    await socket?.drain(OWNER_DRAIN_MS);
    this.parts.semantic?.role.own(null);
    await socket?.close();
    await local?.close();
  }

  private async release(): Promise<void> {
    const { store, holder } = this.parts;
    if (this.owned)
      await store.execute({ kind: 'release-ownership', holder }, { timeoutMs: RELEASE_WAIT_MS });
    this.ownership = { owned: false, fencing: 0 };
  }
}
