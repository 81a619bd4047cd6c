import {
  CHANGE_POLL_MS,
  SUBSCRIPTION_HISTORY_SECONDS,
  SUBSCRIPTION_PRUNE_MAX,
  SUBSCRIPTION_PRUNE_MS,
} from '../../protocol/limits.js';
import type { Clock, Log, Scheduler } from '../../protocol/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/time.js';
import type { DeliveryOutcome, RecordDeliveries } from '../../protocol/webhooks/deliveries.js';
import type { Delivery } from '../../protocol/webhooks/queries.js';
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
/** How long results wait for those of later events: after a kill, those that wait are sent again. */
const TURN_MS = 100;
/** How often it looks whether there is a subscription while there is none. */
const NO_SUBSCRIPTION_MS = 250;
/** How often a process that does not own the database looks whether it does. */
const NOT_OWNER_MS = 1000;
/** A subscription whose result could not be recorded rests, so that its receiver does not get the event without end. */
const UNRECORDED_REST_MS = 1000;

/**
 * Delivers the events of the outbox. Each subscription gets its events one after the other, in their order; different
 * subscriptions do not wait for each other. An event waits in the outbox until its result is recorded, so that a restart
 * sends it again.
 */
export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #busy = new Map<string, Promise<unknown>>();
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
    if (!owns()) return { afterMs: NOT_OWNER_MS };
    const limit = concurrency - this.#busy.size;
    let afterMs = CHANGE_POLL_MS;
    if (limit > 0) {
      const ofOwner = Math.ceil(concurrency * OWNER_SHARE);
      const asked = { nowMs: clock.nowMs(), limit, ofOwner, except: [...this.#busy.keys()] };
      const due = await store.query({ kind: 'due-subscriptions', ...asked }, { lane: 'background' });
      for (const id of due.ok ? due.value.ids : []) this.#begin(id);
      if (due.ok && !due.value.any) afterMs = NO_SUBSCRIPTION_MS;
    }
    await this.#prune();
    return { afterMs };
  }

  #begin(id: string): void {
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
    const asked = { subscriptionId: id, nowMs: clock.nowMs(), limit: EVENTS_PER_TURN };
    const found = await store.query({ kind: 'next-deliveries', ...asked });
    const deliveries = found.ok ? found.value.deliveries : [];
    const { acknowledged, failed } = await this.#sendAll(deliveries, stopping);
    if (acknowledged.length === 0 && failed === null) return false;
    await this.#record({ kind: 'record-deliveries', subscriptionId: id, acknowledged, failed });
    return (
      failed === null && (acknowledged.length < deliveries.length || deliveries.length === EVENTS_PER_TURN)
    );
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
    const recorded = await store.execute(ended);
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
      this.#parts.scheduler.after(UNRECORDED_REST_MS, resolve);
      if (this.#stopping.signal.aborted) resolve();
      else this.#stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async #prune(): Promise<void> {
    const { store, clock } = this.#parts;
    if (clock.monotonicMs() < this.#prunedMs + SUBSCRIPTION_PRUNE_MS) return;
    this.#prunedMs = clock.monotonicMs();
    const totals = await store.query({ kind: 'webhook-totals' }, { lane: 'background' });
    if (!totals.ok || totals.value.subscriptions === 0) return;
    const before = instantAfter(instantFromMs(clock.nowMs()), -SUBSCRIPTION_HISTORY_SECONDS);
    const asked = { kind: 'prune-events', before, limit: SUBSCRIPTION_PRUNE_MAX } as const;
    const pruned = await store.execute(asked, { lane: 'background' });
    if (pruned.ok && pruned.value.more) this.#prunedMs = Number.NEGATIVE_INFINITY;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#busy.values());
    this.#stopping = new AbortController();
  }
}
