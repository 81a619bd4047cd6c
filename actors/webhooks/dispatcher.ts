import {
  CHANGE_POLL_MS,
  SUBSCRIPTION_HISTORY_SECONDS,
  SUBSCRIPTION_PRUNE_MAX,
  SUBSCRIPTION_PRUNE_MS,
} from '../../protocol/limits.js';
import type { Clock, Log, Scheduler } from '../../protocol/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/time.js';
import type { RecordDeliveryOutcome } from '../../protocol/webhooks/deliveries.js';
import type { Delivery } from '../../protocol/webhooks/queries.js';
import type { Store } from '../../storage/port.js';
import type { ChildSpec } from '../core/child.js';
import { loopChild, type NextRound, type Wake } from '../core/loop.js';
import type { RestartPolicy } from '../core/restart-policy.js';

export interface DispatcherParts {
  readonly store: Pick<Store, 'query' | 'execute'>;
  /** Sends an event once: null when it was acknowledged, else why not. Ends when the signal says so. */
  readonly send: (delivery: Delivery, stopping: AbortSignal) => Promise<string | null>;
  /** True while this process is the one that delivers for the database. */
  readonly owns: () => boolean;
  /** Subscriptions that are served at the same time. */
  readonly concurrency: number;
  readonly onAttempt: (became: RecordDeliveryOutcome['became']) => void;
  readonly policy: RestartPolicy;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** Of the subscriptions that are served at a time, those of one owner: slow receivers of one must not hold up the others. */
const OWNER_SHARE = 0.25;
/** Events after which a subscription lets others have its turn. */
const EVENTS_PER_TURN = 16;
/** How often a process that does not own the database looks whether it does. */
const NOT_OWNER_MS = 1000;
/** A subscription whose result could not be recorded rests, so that its receiver does not get the event without end. */
const UNRECORDED_REST_MS = 1000;

/**
 * Delivers the events of the outbox. Each subscription gets its events one after the other, in their order; different
 * subscriptions do not wait for each other. An event stays in the outbox until its result is recorded, so that a restart
 * sends it again.
 */
export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #busy = new Map<string, Promise<void>>();
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
    if (limit > 0) {
      const ofOwner = Math.ceil(concurrency * OWNER_SHARE);
      const asked = { nowMs: clock.nowMs(), limit, ofOwner, except: [...this.#busy.keys()] };
      const due = await store.query({ kind: 'due-subscriptions', ...asked }, { lane: 'background' });
      for (const id of due.ok ? due.value.ids : []) this.#begin(id);
    }
    await this.#prune();
    return { afterMs: CHANGE_POLL_MS };
  }

  #begin(id: string): void {
    const { signal } = this.#stopping;
    const served = this.#serve(id, signal)
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error, subscription: id }, 'a delivery ended unexpectedly');
        return this.#rest();
      })
      .finally(() => {
        this.#busy.delete(id);
        this.#wake.now();
      });
    this.#busy.set(id, served);
  }

  /** Sends the events of a subscription until none is due, or its turn is over. */
  async #serve(id: string, stopping: AbortSignal): Promise<void> {
    const { store, clock, owns, send, onAttempt, log } = this.#parts;
    for (let sent = 0; sent < EVENTS_PER_TURN && !stopping.aborted && owns(); sent += 1) {
      const found = await store.query({ kind: 'next-delivery', subscriptionId: id, nowMs: clock.nowMs() });
      const delivery = found.ok ? found.value.delivery : null;
      if (delivery === null) return;
      const error = await send(delivery, stopping);
      // What the stop has cut off is sent again.
      if (stopping.aborted && error !== null) return;
      const { seq } = delivery;
      const recorded = await store.execute({ kind: 'record-delivery', subscriptionId: id, seq, error });
      if (!recorded.ok) {
        log.warn(
          { subscription: id, code: recorded.error.code },
          'the result of a delivery was not recorded',
        );
        return this.#rest();
      }
      const { became, quarantined } = recorded.value;
      onAttempt(became);
      if (quarantined) {
        log.warn(
          { subscription: id, error },
          'a subscription is quarantined: its receiver failed too often; "mnemesh subscription-replay --resend" ends it',
        );
      }
      if (became === 'retry') return;
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
