import {
  ANNOUNCED_EVENTS_STEP,
  CHANGE_POLL_MS,
  SUBSCRIPTION_HISTORY_SECONDS,
  SUBSCRIPTION_PRUNE_MAX,
  SUBSCRIPTION_PRUNE_MS,
} from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { DeliveryOutcome, RecordDeliveries } from '../../protocol/webhooks/deliveries.js';
import type { Delivery, DueIds, NextDeliveries, NextEvents } from '../../protocol/webhooks/queries.js';
import type { Store } from '../../storage/port.js';
import type { JobQueue, Turn, TurnResult } from '../core/job-dispatcher.js';

export interface WebhookQueueParts {
  readonly store: Pick<Store, 'query' | 'execute'>;
  /** Subscriptions that are served at the same time. */
  readonly concurrency: number;
  /** The regular expressions of namespaces that rules about reads keep from an owner; undefined where none does. */
  readonly withheldFrom: (owner: Viewer) => Promise<Result<Viewer['withheld']>>;
  readonly onAttempt: (became: DeliveryOutcome) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Of the subscriptions that are served at a time, those of one owner: slow receivers of one must not hold up the others. */
const OWNER_SHARE = 0.25;
/** Events after which a subscription lets others have its turn; their results are recorded by one command. */
const EVENTS_PER_TURN = 16;
/** Events of all turns of a round: where more subscriptions wait, each has fewer in a turn. */
const EVENTS_PER_ROUND = 256;
/** How often it looks whether there is a subscription while there is none. */
const NO_SUBSCRIPTION_MS = 250;

/**
 * The recorded events as jobs, a lane for each subscription. The cursor of a subscription passes an event when its result
 * is recorded, so that a restart sends it again. A writer only records an event: who gets it is asked here, in steps, of a
 * reader.
 */
export class WebhookQueue implements JobQueue<Delivery> {
  readonly #parts: WebhookQueueParts;
  /** Subscriptions that may have recorded events to get, with the place up to which that was looked at. */
  readonly #waiting = new Map<string, number>();
  /** Up to here the events were looked at; null when all must be looked at, from the least cursor on. */
  #looked: number | null = null;
  #revision: number | null = null;
  #any = true;
  #prunedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: WebhookQueueParts) {
    this.#parts = parts;
  }

  /** The owner before may have sent what this process has not looked at. */
  lost(): void {
    this.#revision = null;
  }

  async due(limit: number, busy: readonly string[]) {
    const { store, clock, concurrency } = this.#parts;
    this.#any = true;
    if (limit <= 0) return { lanes: [], afterMs: CHANGE_POLL_MS };
    const ofOwner = Math.ceil(concurrency * OWNER_SHARE);
    const asked = { nowMs: clock.nowMs(), limit, ofOwner, except: busy };
    const waiting = [...this.#waiting.keys()];
    const due = await store.query({ kind: 'due-subscriptions', ...asked, waiting }, { lane: 'background' });
    if (!due.ok) return { lanes: [], afterMs: CHANGE_POLL_MS };
    const { ids: lanes, any } = due.value;
    this.#any = any;
    if (!any) return { lanes, afterMs: NO_SUBSCRIPTION_MS };
    return { lanes, afterMs: (await this.#look(due.value)) ? 0 : CHANGE_POLL_MS };
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

  async turn(id: string): Promise<Turn<Delivery> | null> {
    const { clock } = this.#parts;
    const share = Math.floor(EVENTS_PER_ROUND / Math.max(1, this.#waiting.size));
    const limit = Math.min(EVENTS_PER_TURN, Math.max(1, share));
    const asked = { subscriptionId: id, nowMs: clock.nowMs(), limit };
    const found = await this.#next(asked);
    if (found === null) return null;
    const { deliveries, withheld, through, isEnd } = found;
    const end = async ({ done, failed }: TurnResult<Delivery>) => {
      const isWhole = failed === null && done.length === deliveries.length;
      // Where all events were looked at, the cursor moves with those of others.
      const passes = isWhole && through !== null && !isEnd ? { through } : {};
      const acknowledged = [...withheld, ...done.map(({ seq }) => seq)];
      const lost = failed === null ? null : { seq: failed.job.seq, error: failed.error };
      const isNews = acknowledged.length > 0 || lost !== null || 'through' in passes;
      const ended = { kind: 'record-deliveries', subscriptionId: id, acknowledged, failed: lost } as const;
      const recorded = !isNews || (await this.#record({ ...ended, ...passes }));
      if (isWhole && isEnd && (this.#waiting.get(id) ?? 0) <= (through ?? 0)) this.#waiting.delete(id);
      return { recorded, more: !(isWhole && isEnd) };
    };
    return { jobs: deliveries, end };
  }

  /** The next events, without those that rules keep from the owner; null where that cannot be found out. */
  async #next(asked: Omit<NextDeliveries, 'kind'>): Promise<NextEvents | null> {
    const { store, withheldFrom } = this.#parts;
    const found = await store.query({ kind: 'next-deliveries', ...asked });
    if (!found.ok) return null;
    const withheld = await withheldFrom(found.value.owner);
    if (!withheld.ok) return null;
    if (withheld.value === undefined) return found.value;
    const limited = await store.query({ kind: 'next-deliveries', ...asked, withheld: withheld.value });
    return limited.ok ? limited.value : null;
  }

  async #record(ended: RecordDeliveries): Promise<boolean> {
    const { store, onAttempt, log } = this.#parts;
    const subscription = ended.subscriptionId;
    const recorded = await store.execute(ended, { lane: 'background' });
    if (!recorded.ok) {
      log.warn({ subscription, code: recorded.error.code }, 'the results of deliveries were not recorded');
      return false;
    }
    const { became, quarantined } = recorded.value;
    for (const each of became) onAttempt(each);
    if (quarantined) {
      log.warn(
        { subscription, error: ended.failed?.error },
        'a subscription is quarantined: its receiver failed too often; "mnemesh subscription-replay --resend" ends it',
      );
    }
    return true;
  }

  async prune(busy: readonly string[]): Promise<void> {
    const { store, clock } = this.#parts;
    if (clock.monotonicMs() < this.#prunedMs + SUBSCRIPTION_PRUNE_MS) return;
    const [through, revision] = [this.#looked, this.#revision];
    // There has been no subscription.
    if (through === null || revision === null) return;
    this.#prunedMs = clock.monotonicMs();
    const except = [...new Set([...this.#waiting.keys(), ...busy])];
    await store.execute({ kind: 'pass-events', through, except, revision }, { lane: 'background' });
    const before = instantAfter(instantFromMs(clock.nowMs()), -SUBSCRIPTION_HISTORY_SECONDS);
    const asked = { kind: 'prune-events', before, limit: SUBSCRIPTION_PRUNE_MAX } as const;
    const pruned = await store.execute(asked, { lane: 'background' });
    if (!pruned.ok) return;
    if (pruned.value.more) this.#prunedMs = Number.NEGATIVE_INFINITY;
    else if (!this.#any) this.#looked = null;
  }
}
