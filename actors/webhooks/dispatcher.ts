import {
  ANNOUNCED_EVENTS_STEP,
  CHANGE_POLL_MS,
  SUBSCRIPTION_HISTORY_SECONDS,
  SUBSCRIPTION_PRUNE_MAX,
  SUBSCRIPTION_PRUNE_MS,
  WEBHOOK_TURNS_PER_SECOND,
} from '../../protocol/base/limits.js';
import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { DeliveryOutcome, RecordDeliveries } from '../../protocol/webhooks/deliveries.js';
import type { Delivery, DueIds } from '../../protocol/webhooks/queries.js';
import type { Store } from '../../storage/port.js';
import type { ChildSpec } from '../core/child.js';
import { loopChild, type NextRound, type Wake } from '../core/loop.js';
import type { RestartPolicy } from '../core/restart-policy.js';

/** How events of one subscription reach their receiver. */
export interface ReceiverConnection {
  /** Sends an event once: null when it was acknowledged, else why not. Never rejects; ends when the signal says so. */
  send(delivery: Delivery, stopping?: AbortSignal): Promise<string | null>;
  close(): void;
}

export interface DispatcherParts {
  readonly store: Pick<Store, 'query' | 'execute'>;
  /** A connection for the events of one turn. */
  readonly open: () => ReceiverConnection;
  /** True while this process is the one that delivers for the database. */
  readonly owns: () => boolean;
  /** Subscriptions that are served at the same time. */
  readonly concurrency: number;
  readonly onAttempt: (became: DeliveryOutcome) => void;
  readonly policy: RestartPolicy;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** Of the subscriptions that are served at a time, those of one owner: slow receivers of one must not hold up the others. */
const OWNER_SHARE = 0.25;
/** Events after which a subscription lets others have its turn; their results are recorded by one command. */
const EVENTS_PER_TURN = 16;
/** Events of all turns of a round: where more subscriptions wait, each has fewer in a turn. */
const EVENTS_PER_ROUND = 256;
/** How long results wait for those of later events: after a kill, those that wait are sent again. */
const TURN_MS = 100;
/** How often it looks whether there is a subscription while there is none. */
const NO_SUBSCRIPTION_MS = 250;
/** How often a process that does not own the database looks whether it does. */
const NOT_OWNER_MS = 1000;
/** A subscription whose result could not be recorded rests, so that its receiver does not get the event without end. */
const UNRECORDED_REST_MS = 1000;

/**
 * Delivers the recorded events. Each subscription gets its events one after the other, in their order; different
 * subscriptions do not wait for each other. The cursor of a subscription passes an event when its result is recorded, so
 * that a restart sends it again. A writer only records an event: who gets it is asked here, in steps, of a reader; and
 * there are only so many turns in a second, because sending and recording take time from everybody's calls.
 */
export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #busy = new Map<string, Promise<unknown>>();
  /** Subscriptions that may have recorded events to get, with the place up to which that was looked at. */
  readonly #waiting = new Map<string, number>();
  /** Up to here the events were looked at; null when all must be looked at, from the least cursor on. */
  #looked: number | null = null;
  #revision: number | null = null;
  #turns = 0;
  #turnsAtMs = 0;
  #stopping = new AbortController();
  #prunedMs = Number.NEGATIVE_INFINITY;
  readonly spec: ChildSpec;
  readonly #wake: Wake;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { policy, clock, scheduler } = parts;
    const { spec, wake } = loopChild({
      id: 'webhooks',
      policy,
      clock,
      scheduler,
      round: () => this.#round(),
      onStop: () => this.#stop(),
    });
    this.spec = spec;
    this.#wake = wake;
  }

  async #round(): Promise<NextRound> {
    const { store, clock, owns, concurrency } = this.#parts;
    if (!owns()) {
      // The owner before may have sent what this process has not looked at.
      this.#revision = null;
      return { afterMs: NOT_OWNER_MS };
    }
    const limit = Math.min(concurrency - this.#busy.size, this.#turnsLeft());
    let afterMs = CHANGE_POLL_MS;
    let any = true;
    if (limit > 0) {
      const ofOwner = Math.ceil(concurrency * OWNER_SHARE);
      const asked = { nowMs: clock.nowMs(), limit, ofOwner, except: [...this.#busy.keys()] };
      const waiting = [...this.#waiting.keys()];
      const due = await store.query({ kind: 'due-subscriptions', ...asked, waiting }, { lane: 'background' });
      if (due.ok) {
        for (const id of due.value.ids) this.#begin(id);
        any = due.value.any;
        if (!any) afterMs = NO_SUBSCRIPTION_MS;
        else if (await this.#look(due.value)) afterMs = 0;
      }
    }
    await this.#prune(any);
    return { afterMs };
  }

  /** How many turns may begin now. */
  #turnsLeft(): number {
    const nowMs = this.#parts.clock.monotonicMs();
    const gained = ((nowMs - this.#turnsAtMs) * WEBHOOK_TURNS_PER_SECOND) / 1000;
    this.#turns = Math.min(this.#turns + gained, this.#parts.concurrency);
    this.#turnsAtMs = nowMs;
    return Math.floor(this.#turns);
  }

  /** Asks which subscriptions get the events that came, a step at a time. True when it found some. */
  async #look({ lastSeq, revision }: Pick<DueIds, 'lastSeq' | 'revision'>): Promise<boolean> {
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#looked = null;
      this.#waiting.clear();
    }
    if (this.#looked !== null && this.#looked >= lastSeq) return false;
    const asked = { kind: 'announced-since', after: this.#looked, limit: ANNOUNCED_EVENTS_STEP } as const;
    const found = await this.#parts.store.query(asked, { lane: 'background' });
    if (!found.ok) return false;
    const { through, ids } = found.value;
    this.#looked = through;
    for (const id of ids) this.#waiting.set(id, through);
    return ids.length > 0;
  }

  #begin(id: string): void {
    this.#turns -= 1;
    const { signal } = this.#stopping;
    const served = this.#turn(id, signal)
      .catch(async (error: unknown) => {
        this.#parts.log.error({ err: error, subscription: id }, 'a delivery ended unexpectedly');
        await this.#rest();
        return true;
      })
      .then((isMore) => {
        this.#busy.delete(id);
        // The next poll finds what comes after a turn that sent everything: a commit for each event would slow the writes.
        if (isMore) this.#wake.now();
      });
    this.#busy.set(id, served);
  }

  /** Sends events of a subscription, and records what became of them. True when more are due. */
  async #turn(id: string, stopping: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#parts;
    const share = Math.floor(EVENTS_PER_ROUND / Math.max(1, this.#waiting.size));
    const limit = Math.min(EVENTS_PER_TURN, Math.max(1, share));
    const asked = { subscriptionId: id, nowMs: clock.nowMs(), limit };
    const found = await store.query({ kind: 'next-deliveries', ...asked });
    if (!found.ok) return false;
    const { deliveries, through, isEnd } = found.value;
    const { acknowledged, failed } = await this.#sendAll(deliveries, stopping);
    const isWhole = failed === null && acknowledged.length === deliveries.length;
    // Where all events were looked at, the cursor moves with those of others.
    const passes = isWhole && through !== null && !isEnd ? { through } : {};
    if (acknowledged.length > 0 || failed !== null || 'through' in passes)
      await this.#record({ kind: 'record-deliveries', subscriptionId: id, acknowledged, failed, ...passes });
    if (isWhole && isEnd && (this.#waiting.get(id) ?? 0) <= (through ?? 0)) this.#waiting.delete(id);
    return failed === null && !stopping.aborted && !(isWhole && isEnd);
  }

  /** Sends events in their order until one fails or the time of the turn is over. */
  async #sendAll(
    deliveries: readonly Delivery[],
    stopping: AbortSignal,
  ): Promise<Pick<RecordDeliveries, 'acknowledged' | 'failed'>> {
    const { clock, owns, open } = this.#parts;
    const untilMs = clock.monotonicMs() + TURN_MS;
    const acknowledged: number[] = [];
    const connection = open();
    try {
      for (const delivery of deliveries) {
        if (stopping.aborted || !owns()) break;
        const { seq } = delivery;
        const error = await connection.send(delivery, stopping);
        if (error !== null) {
          // What the stop has cut off is sent again.
          return { acknowledged, failed: stopping.aborted ? null : { seq, error } };
        }
        acknowledged.push(seq);
        if (clock.monotonicMs() >= untilMs) break;
      }
    } finally {
      connection.close();
    }
    return { acknowledged, failed: null };
  }

  async #record(ended: RecordDeliveries): Promise<void> {
    const { store, onAttempt, log } = this.#parts;
    const subscription = ended.subscriptionId;
    const recorded = await store.execute(ended, { lane: 'background' });
    if (!recorded.ok) {
      log.warn({ subscription, code: recorded.error.code }, 'the results of deliveries were not recorded');
      return this.#rest();
    }
    const { became, quarantined } = recorded.value;
    for (const each of became) onAttempt(each);
    if (quarantined) {
      log.warn(
        { subscription, error: ended.failed?.error },
        'a subscription is quarantined: its receiver failed too often; "mnemesh subscription-replay --resend" ends it',
      );
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#stopping;
      const end = () => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#parts.scheduler.after(UNRECORDED_REST_MS, end);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
  }

  async #prune(any: boolean): Promise<void> {
    const { store, clock } = this.#parts;
    if (clock.monotonicMs() < this.#prunedMs + SUBSCRIPTION_PRUNE_MS) return;
    const [through, revision] = [this.#looked, this.#revision];
    // There has been no subscription.
    if (through === null || revision === null) return;
    this.#prunedMs = clock.monotonicMs();
    const except = [...new Set([...this.#waiting.keys(), ...this.#busy.keys()])];
    await store.execute({ kind: 'pass-events', through, except, revision }, { lane: 'background' });
    const before = instantAfter(instantFromMs(clock.nowMs()), -SUBSCRIPTION_HISTORY_SECONDS);
    const asked = { kind: 'prune-events', before, limit: SUBSCRIPTION_PRUNE_MAX } as const;
    const pruned = await store.execute(asked, { lane: 'background' });
    if (!pruned.ok) return;
    if (pruned.value.more) this.#prunedMs = Number.NEGATIVE_INFINITY;
    else if (!any) this.#looked = null;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#busy.values());
    this.#stopping = new AbortController();
  }
}
