import { CHANGE_POLL_MS } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler } from '../../protocol/base/seams.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { ReadStore } from '../../storage/port.js';
import type { ChildSpec } from '../core/child.js';
import { type Commits, type MayHaveChanged, UNHEARD } from '../core/commits.js';
import { loopChild, type NextRound, type Wake } from '../core/loop.js';
import type { RestartPolicy } from '../core/restart-policy.js';
import { beginFrame, KEEPALIVE, keepaliveFrame, LAGGED, laggedFrame } from './frames.js';
import {
  STREAM_KEEPALIVE_MS,
  STREAM_PAGES_PER_ROUND,
  STREAM_REPLAY_OPERATIONS_MAX,
} from './stream-limits.js';

/** Where the events of one listener go. */
export interface Sink {
  send(frames: readonly Uint8Array[]): void;
  /** Bytes that were sent and have not left yet. */
  unread(): number;
  /** Ends the stream after what was sent. */
  end(): void;
  /** Ends the stream at once. */
  destroy(): void;
}

/** Who listens. */
export interface Listening extends Viewer {
  /** True for an agent that was registered when it began to listen. */
  readonly isRegistered?: boolean;
}

interface Listener {
  readonly sink: Sink;
  readonly viewer: Listening;
  /** The commit sequence up to which it has got its events. */
  after: number;
  /** Where it was at the last keepalive, if it had not read everything then. */
  stalledAt: number | null;
}

/** Begins a listener, which then has a place. */
export interface Admission {
  begin(sink: Sink): { leave(): void };
}

/** An event as it is sent, and who may hear it. */
export interface StreamEvent {
  /** The commit sequence of its operation. */
  readonly id: number;
  readonly frame: Uint8Array;
  mayHear(viewer: Listening): boolean;
}

/** Events after a place in the log. */
export interface StreamPage {
  readonly events: readonly StreamEvent[];
  /** The place after which the next page begins. */
  readonly through: number;
  readonly more: boolean;
}

/** What one stream tells, and how much of it waits for a listener. */
export interface StreamOf {
  readonly name: string;
  /** What a client does that finds no place. */
  readonly instead: string;
  readonly listenersMax: number;
  /** Bytes that wait for one listener; beyond it the listener is cut. */
  readonly unreadBytesMax: number;
  /** Null when the store does not answer now. */
  page(after: number): Promise<StreamPage | null>;
}

export interface LogStreamParts {
  readonly store: Pick<ReadStore, 'query'>;
  readonly policy: RestartPolicy;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Default: the log is read each time. */
  readonly commits?: Commits;
  /** Smaller in tests. */
  readonly listenersMax?: number;
  readonly keepaliveMs?: number;
}

/** Without a listener there is nothing to do until one comes. */
const IDLE_MS = 60_000;

/**
 * A stream of events of the log: one reader of the log for all listeners. A listener is live, or behind: it named the
 * event that it got last, and gets those since from the log. The listeners outlive a failed round.
 */
export class LogStream {
  readonly #parts: LogStreamParts;
  readonly #of: StreamOf;
  readonly #listeners = new Set<Listener>();
  /** Admitted, and not begun yet. */
  #coming = 0;
  /** Listeners that were told they are cut off: before the last keepalive, and since. */
  #cut: [before: Sink[], since: Sink[]] = [[], []];
  /** The place in the log up to which live listeners have their events. */
  #place = 0;
  readonly #mayHaveChanged: MayHaveChanged;
  /** True while the log was not read up to its end. */
  #isBehind = true;
  #keepaliveMs = 0;
  readonly spec: ChildSpec;
  readonly #wake: Wake;

  constructor(parts: LogStreamParts, of: StreamOf) {
    this.#parts = parts;
    this.#of = of;
    this.#mayHaveChanged = (parts.commits ?? UNHEARD).reader();
    const { policy, clock, scheduler } = parts;
    const { spec, wake } = loopChild({
      id: `${of.name}-stream`,
      policy,
      clock,
      scheduler,
      round: () => this.#round(),
    });
    this.spec = spec;
    this.#wake = wake;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /**
   * Finds the place of a new listener: the end of the log, or `after`, the id of the event that it got last. OVERLOADED
   * when there are too many listeners.
   */
  async admit(viewer: Listening, after: number | null): Promise<Result<Admission>> {
    const max = this.#parts.listenersMax ?? this.#of.listenersMax;
    if (this.#listeners.size + this.#coming >= max) {
      const message = `${max} listeners have this stream open already; ${this.#of.instead} instead`;
      return fail('OVERLOADED', message, { max_listeners: max });
    }
    this.#coming += 1;
    try {
      const position = await this.#parts.store.query({ kind: 'log-position' });
      if (!position.ok) return failed(position.error);
      const end = position.value.commitSequence;
      const known = after !== null && after <= end && end - after <= STREAM_REPLAY_OPERATIONS_MAX;
      const from = known ? after : end;
      const first = after === null || known ? beginFrame(this.#of.name, from) : laggedFrame(end);
      return ok({ begin: (sink) => this.#begin({ sink, viewer, after: from, stalledAt: null }, first, end) });
    } finally {
      this.#coming -= 1;
    }
  }

  #begin(listener: Listener, first: Uint8Array, end: number): { leave(): void } {
    if (this.#isIdle) {
      this.#place = end;
      this.#keepaliveMs = this.#parts.clock.monotonicMs() + this.#period;
    }
    this.#listeners.add(listener);
    listener.sink.send([first]);
    this.#wake.now();
    return { leave: () => this.#listeners.delete(listener) };
  }

  /** Sends a frame that is not of the log to the listeners that see everything. */
  tell(frame: Uint8Array): void {
    for (const listener of this.#listeners) {
      if (!listener.viewer.all) continue;
      listener.sink.send([frame]);
      if (listener.sink.unread() > this.#of.unreadBytesMax) this.#cutOff(listener);
    }
  }

  get #isIdle(): boolean {
    return this.#listeners.size === 0 && this.#cut.every((sinks) => sinks.length === 0);
  }

  get #period(): number {
    return this.#parts.keepaliveMs ?? STREAM_KEEPALIVE_MS;
  }

  async #round(): Promise<NextRound> {
    if (this.#isIdle) return { afterMs: IDLE_MS };
    const caughtUp = await this.#catchUp();
    const sent = await this.#sendNew();
    if (this.#parts.clock.monotonicMs() >= this.#keepaliveMs) this.#keepAlive();
    return { afterMs: caughtUp && sent ? CHANGE_POLL_MS : 0 };
  }

  /** Sends the next events to live listeners; false when there are more. */
  async #sendNew(): Promise<boolean> {
    const from = this.#place;
    if (!this.#mayHaveChanged() && !this.#isBehind) return true;
    this.#isBehind = true;
    const position = await this.#parts.store.query({ kind: 'log-position' });
    if (!position.ok) return true;
    if (position.value.commitSequence <= from) {
      this.#isBehind = false;
      return true;
    }
    const page = await this.#of.page(from);
    if (page === null) return true;
    const through = page.more ? page.through : Math.max(page.through, position.value.commitSequence);
    this.#send(page.events, through, from);
    this.#place = through;
    this.#isBehind = page.more;
    return !page.more;
  }

  /**
   * Sends older events to the listeners that are behind and have read what they got, beginning with the one that is the
   * furthest behind; false when there are more.
   */
  async #catchUp(): Promise<boolean> {
    for (let pages = 0; pages < STREAM_PAGES_PER_ROUND; pages += 1) {
      const from = this.#furthestBehind();
      if (from === null) return true;
      const page = await this.#of.page(from);
      if (page === null) return true;
      const through = page.more ? Math.min(page.through, this.#place) : this.#place;
      const events = page.events.filter(({ id }) => id <= through);
      for (const listener of this.#listeners) {
        if (listener.after < through && listener.after >= from && listener.sink.unread() === 0)
          this.#give(listener, events, through);
      }
    }
    return false;
  }

  #furthestBehind(): number | null {
    let least = this.#place;
    for (const { after, sink } of this.#listeners) {
      if (after < least && sink.unread() === 0) least = after;
    }
    return least < this.#place ? least : null;
  }

  /** Sends events to every listener that has got those up to `from`. */
  #send(events: readonly StreamEvent[], through: number, from: number): void {
    for (const listener of this.#listeners) {
      if (listener.after < from) continue;
      this.#give(listener, events, through);
      if (listener.sink.unread() > this.#of.unreadBytesMax) this.#cutOff(listener);
    }
  }

  #give(listener: Listener, events: readonly StreamEvent[], through: number): void {
    const seen = events
      .filter((event) => event.id > listener.after && event.mayHear(listener.viewer))
      .map(({ frame }) => frame);
    listener.after = Math.max(listener.after, through);
    if (seen.length > 0) listener.sink.send(seen);
  }

  /** Tells a listener that reads too slowly, and ends its stream; one that does not read at all is closed later. */
  #cutOff(listener: Listener): void {
    const { sink } = listener;
    this.#listeners.delete(listener);
    this.#cut[1].push(sink);
    sink.send([LAGGED]);
    sink.end();
  }

  #keepAlive(): void {
    this.#keepaliveMs = this.#parts.clock.monotonicMs() + this.#period;
    for (const sink of this.#cut[0]) sink.destroy();
    this.#cut = [this.#cut[1], []];
    const place = this.#place;
    const live = keepaliveFrame(place);
    for (const listener of this.#listeners) {
      const { sink, after } = listener;
      // One that is behind gets more when it has read everything, so its place shows that it reads.
      const stalledAt = after < place && sink.unread() > 0 ? after : null;
      if (stalledAt !== null && stalledAt === listener.stalledAt) {
        this.#cutOff(listener);
        continue;
      }
      listener.stalledAt = stalledAt;
      // Only the place of one that has all events up to it may be named.
      sink.send([after === place ? live : KEEPALIVE]);
    }
  }
}
