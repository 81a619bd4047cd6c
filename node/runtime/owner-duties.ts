import type { ChildSpec } from '../../actors/core/child.js';
import { loopChild, type NextRound, type Wake } from '../../actors/core/loop.js';
import { type Ownership, OwnershipLease, type Presence } from '../../actors/maintenance/ownership.js';
import { CHANGE_POLL_MS, OWNER_TAKEOVER_MS } from '../../protocol/base/limits.js';
import type { PeerId } from '../../protocol/base/meanings.js';
import type { Clock, Log, Random, Scheduler } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import type { OwnedSemantics } from '../semantics/owned-semantics.js';
import { DUTIES } from './duties.js';
import type { Duty, Need } from './duty.js';
import type { LocalSocket } from './local-socket.js';
import type { Semantics } from './open-semantics.js';

/** The parts that the duties of an owner need. */
export interface OwnerDutiesParts {
  readonly store: Store;
  /** This node in the mesh. */
  readonly peerId: PeerId;
  readonly role: 'daemon' | 'mcp';
  readonly holder: string;
  /** How the processes of the database see each other. */
  readonly presence: Presence;
  /** Makes the socket at which this process takes the calls of others while it owns the database; absent for a daemon. */
  readonly socket?: () => LocalSocket;
  readonly settings: Settings;
  /** True while the peers say that the clock is ahead: nothing expires by such a clock. */
  readonly isClockAhead?: () => boolean;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
  /** Null in keyword mode. */
  readonly semantic: Semantics | null;
}

/** How often a duty looks whether this process owns the database. */
const NOT_OWNER_MS = 250;
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
  private readonly lease: OwnershipLease;
  /** Hears of an ownership that has begun or ended. */
  private changed = () => {};
  private local: OwnedSemantics | null = null;
  private socket: LocalSocket | null = null;
  private mark = -1;
  /** When the last change of the log was seen, on the monotonic clock. */
  private changedMs = Number.NEGATIVE_INFINITY;
  private closed = false;
  private begun: Promise<void> = Promise.resolve();
  /** Who waits for the next look at the ownership. */
  private waiting: (() => void)[] = [];

  constructor(private readonly parts: OwnerDutiesParts) {
    const { store, clock, holder, role, presence } = parts;
    const onRound = (next: Ownership) => this.noteRound(next);
    this.lease = new OwnershipLease({ store, clock, holder, role, presence, onRound });
  }

  get owned(): boolean {
    return this.ownership.owned && this.lease.owns;
  }

  /** The loops, for a supervisor. */
  children(): ChildSpec[] {
    const { semantic } = this.parts;
    const loops = DUTIES.filter(({ needs }) => needs.every((need) => need === 'clock' || this.has(need))).map(
      (duty) => ({ duty, loop: this.loopOf(duty) }),
    );
    const wake = (by: 'ownership' | 'log') => {
      for (const { duty, loop } of loops) if (duty.wokenBy?.includes(by) === true) loop.wake.now();
    };
    this.changed = () => wake('ownership');
    const ownership = this.loop(
      'ownership',
      0,
      () => this.lease.round(),
      () => this.release(),
    );
    semantic?.role.whenUnreachable(() => this.takeOver(ownership.wake));
    const changes =
      semantic === null && !this.has('comparison') ? [] : [this.changesLoop(() => wake('log')).spec];
    return [ownership.spec, ...loops.map(({ loop }) => loop.spec), ...changes];
  }

  private has(need: Need): boolean {
    const { semantic, settings, isClockAhead } = this.parts;
    if (need === 'encoder') return semantic !== null;
    return need === 'comparison' ? settings.nearDuplicate !== 'off' : isClockAhead?.() !== true;
  }

  private loopOf({ name, every, first = 0, needs, run }: Duty) {
    const { store, peerId, settings, clock, log } = this.parts;
    const round = run({
      ...{ store, peerId, settings, clock, log },
      semantics: () => (this.owned ? this.local : null),
      sinceChangeMs: () => clock.monotonicMs() - this.changedMs,
    });
    return this.loop(name, first, async () => {
      if (!this.owned || !needs.every((need) => this.has(need))) return { afterMs: NOT_OWNER_MS };
      return (await round()) ?? { afterMs: every };
    });
  }

  private loop(
    id: string,
    firstAfterMs: number,
    round: () => Promise<NextRound>,
    onStop?: () => Promise<void>,
  ) {
    const { scheduler, clock } = this.parts;
    const common = { policy: BACKGROUND_POLICY, scheduler, clock };
    return loopChild({ ...common, id, firstAfterMs, round, ...(onStop === undefined ? {} : { onStop }) });
  }

  private noteRound(next: Ownership): void {
    const isNew = next.owned !== this.ownership.owned;
    this.change(next);
    if (isNew) this.changed();
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private changesLoop(changed: () => void) {
    const { store, clock, presence } = this.parts;
    const mayHaveChanged = presence.reader();
    return this.loop('changes', 0, async () => {
      if (!mayHaveChanged()) return { afterMs: CHANGE_POLL_MS };
      // Any process may have written; the position of the log shows it.
      const position = await store.query({ kind: 'log-position' });
      const mark = position.ok ? position.value.commitSequence : this.mark;
      if (mark !== this.mark) {
        this.changedMs = clock.monotonicMs();
        changed();
      }
      this.mark = mark;
      return { afterMs: CHANGE_POLL_MS };
    });
  }

  /** Ends what the ownership began; a later granted claim begins nothing. */
  async close(): Promise<void> {
    this.closed = true;
    await this.end();
    // A socket that was being opened is closed by who opened it.
    await this.begun;
  }

  /**
   * Checks at once whether the owner has ended, and resolves when this process answers in its place. If the owner is
   * alive but refuses calls of this process, this process opens an encoder for its own questions.
   */
  private async takeOver(ownership: Wake): Promise<void> {
    const looked = new Promise<true>((resolve) => this.waiting.push(() => resolve(true)));
    const late = new Promise<false>((resolve) => {
      this.parts.scheduler.after(OWNER_TAKEOVER_MS, () => resolve(false));
    });
    ownership.now();
    const isKnown = await Promise.race([looked, late]);
    await this.begun;
    const { semantic } = this.parts;
    if (!isKnown || semantic === null || this.local !== null || this.closed) return;
    this.local = semantic.openLocal({ batchRows: 1, plans: false });
    semantic.role.own(this.local);
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
      const local = semantic.openLocal();
      this.local = local;
      semantic.role.own(local);
      // The one before was used, so the next question comes soon.
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
    const { store, holder, presence } = this.parts;
    if (this.ownership.owned)
      await store.execute({ kind: 'release-ownership', holder }, { timeoutMs: RELEASE_WAIT_MS });
    this.ownership = { owned: false, fencing: 0 };
    await presence.close();
  }
}
