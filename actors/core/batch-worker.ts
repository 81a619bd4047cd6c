import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import { type AskOptions, PendingReplies, type PendingReply } from './ask.js';
import type { BatchPort } from './batch-port.js';
import { asError } from './child.js';
import { type Lane, Mailbox, type MailboxLimits } from './mailbox.js';

/** The options of a batch worker. */
export interface BatchWorkerOptions {
  /** A name for failure messages, such as `storage writer`. */
  readonly name: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
  readonly mailbox: MailboxLimits;
  readonly batchMessagesMax: number;
  readonly batchBytesMax: number;
  /** Batches that one port may hold at a time; default 1. */
  readonly batchesInFlightMax?: number;
  /**
   * Calls its argument when the asks that come together have come, which then share a batch; default: at the end of the
   * caller's synchronous work.
   */
  readonly gather?: (dispatch: () => void) => void;
  /** Ports that may be attached at a time, which share the queue; default 1. */
  readonly portsMax?: number;
  /**
   * Called when a port broke its contract (a throw from `post`, or results that do not match the oldest batch). The
   * port is already detached: end the thread behind it, so that its supervisor starts another. Must not throw.
   */
  readonly onFault: (error: Error) => void;
}

/** The state of a batch worker, for metrics. */
export interface BatchWorkerStats {
  /** Asks that wait for a batch, including those whose deadline has passed but was not checked yet. */
  readonly queued: number;
  readonly queuedBytes: number;
  readonly batchesInFlight: number;
  /** Asks without an answer, queued or in flight. */
  readonly pending: number;
  readonly ports: number;
}

/** `drained`: every queued ask has been executed or has met its deadline. */
export type StopOutcome = 'drained' | 'cut-short';

/**
 * The loop in front of a storage thread: asks gather in a mailbox while a batch is in flight, and the gathered asks are
 * the next batch, so commits are grouped without a timer. It outlives its ports: when a port exits, its asks fail, and
 * the queue waits for the next port.
 */
export class BatchWorker<C, R> {
  private readonly mailbox: Mailbox<Envelope<C, R>>;
  private readonly pending: PendingReplies<R>;
  private readonly slots: Slot<C, R>[] = [];
  private readonly depth: number;
  private readonly gather: (dispatch: () => void) => void;
  private readonly overloaded: Result<never>;
  private readonly deadlinePassed: Result<never>;
  private readonly shuttingDown: Result<never>;
  private state: 'open' | 'draining' | 'closed' = 'open';
  private stopping: Stopping | null = null;
  private flushQueued = false;
  private dispatching = false;
  private expiredSinceEviction = 0;

  constructor(private readonly options: BatchWorkerOptions) {
    const { name, clock, scheduler } = options;
    this.depth = options.batchesInFlightMax ?? 1;
    this.gather = options.gather ?? ((dispatch) => void Promise.resolve().then(dispatch));
    if (!(this.depth >= 1 && options.batchMessagesMax >= 1))
      throw new Error(`${name}: a mailbox without room for one message could never send`);
    this.mailbox = new Mailbox(options.mailbox);
    this.pending = new PendingReplies({ clock, scheduler, onExpired: (count) => this.expired(count) });
    this.overloaded = fail('OVERLOADED', `the queue of the ${name} is full; nothing was done`);
    this.deadlinePassed = fail('DEADLINE', `the deadline passed before the ${name} began; nothing was done`);
    this.shuttingDown = fail('SHUTTING_DOWN', `the ${name} is shutting down; nothing was done`);
  }

  /**
   * Sends a command and resolves with its result; never rejects. `sizeBytes` counts against the limits. Answers
   * OVERLOADED, SHUTTING_DOWN, DEADLINE or ACTOR_RESTARTED by itself (see `AskFailureCode`), INTERNAL when the port
   * refused the whole batch, and otherwise the port's answer.
   */
  ask(command: C, sizeBytes: number, { deadlineMs, lane, from = '' }: AskOptions): Promise<Result<R>> {
    if (this.state !== 'open') return Promise.resolve(this.shuttingDown);
    if (deadlineMs <= this.options.clock.monotonicMs()) return Promise.resolve(this.deadlinePassed);
    if (!this.mailbox.hasRoom(sizeBytes) && !this.evictExpired(sizeBytes))
      return Promise.resolve(this.overloaded);
    const reply = this.pending.register(deadlineMs);
    this.mailbox.offer({ command, reply, sizeBytes, lane, from }, sizeBytes, lane, from);
    this.flushSoon();
    return reply.promise;
  }

  /**
   * Attaches a port; returns a function that detaches it, as if it had exited. Throws when `portsMax` ports are
   * attached. A port that comes after the end is ignored.
   */
  attach(port: BatchPort<C, R>): () => void {
    if (this.state === 'closed') return () => {};
    if (this.slots.length >= (this.options.portsMax ?? 1))
      throw new Error(
        `${this.options.name}: one more port would run commands in parallel that must run in turn`,
      );
    const slot: Slot<C, R> = { port, inFlight: [] };
    this.slots.push(slot);
    const detach = (): void => this.detach(slot);
    port.onResults((results) => this.answer(slot, results));
    port.onExit(detach);
    this.flushSoon();
    return detach;
  }

  /**
   * Refuses new asks with SHUTTING_DOWN, finishes the queue, and resolves when it is empty. At `deadlineMs` (monotonic)
   * the rest fails: SHUTTING_DOWN if it was still queued, ACTOR_RESTARTED if it was in flight. The ports are detached
   * but not ended. A second call returns the same promise.
   */
  stop(deadlineMs: number): Promise<StopOutcome> {
    if (this.stopping !== null) return this.stopping.promise;
    let resolve!: (outcome: StopOutcome) => void;
    const promise = new Promise<StopOutcome>((settle) => {
      resolve = settle;
    });
    const waitMs = Math.max(deadlineMs - this.options.clock.monotonicMs(), 0);
    const timer = this.options.scheduler.after(waitMs, () => this.close('cut-short'), { keepAlive: true });
    this.state = 'draining';
    this.stopping = { promise, resolve, timer };
    this.closeIfDrained();
    return promise;
  }

  stats(): BatchWorkerStats {
    const { size: queued, sizeBytes: queuedBytes } = this.mailbox;
    const batchesInFlight = this.slots.reduce((sum, slot) => sum + slot.inFlight.length, 0);
    return { queued, queuedBytes, batchesInFlight, pending: this.pending.size, ports: this.slots.length };
  }

  /** Waits, so that asks made together are sent together. */
  private flushSoon(): void {
    if (this.flushQueued) return;
    this.flushQueued = true;
    this.gather(() => {
      this.flushQueued = false;
      this.dispatch();
    });
  }

  private dispatch(): void {
    // A port that answers inside `post` calls back into this function; the loop below continues for it.
    if (this.dispatching) return;
    this.dispatching = true;
    try {
      while (this.mailbox.size > 0) {
        const free = this.slots.filter((slot) => slot.inFlight.length < this.depth);
        if (free.length === 0) break;
        const slot = free.reduce((least, each) =>
          each.inFlight.length < least.inFlight.length ? each : least,
        );
        // All ports share the queue, those that are busy too, so that none idles behind the batch of another.
        const share = Math.ceil(this.mailbox.size / this.slots.length);
        const batch = this.takeBatch(Math.min(share, this.options.batchMessagesMax));
        if (batch.length > 0) this.post(slot, batch);
      }
    } finally {
      this.dispatching = false;
    }
    this.closeIfDrained();
  }

  /** May be empty: it leaves out asks that have their answer, or are too late to begin. */
  private takeBatch(messagesMax: number): Envelope<C, R>[] {
    const nowMs = this.options.clock.monotonicMs();
    return this.mailbox.take(messagesMax, this.options.batchBytesMax).filter(({ reply }) => {
      if (reply.deadlineMs <= nowMs) this.pending.settle(reply, this.deadlinePassed);
      return !reply.settled;
    });
  }

  private post(slot: Slot<C, R>, batch: Envelope<C, R>[]): void {
    slot.inFlight.push(batch);
    try {
      slot.port.post(batch.map(({ command }) => command));
    } catch (thrown) {
      // The port did not take these asks, and a command that cannot be sent would break the next port as well.
      const refused = fail('INTERNAL', 'internal error');
      for (const { reply } of batch) this.pending.settle(reply, refused);
      this.fault(slot, asError(thrown));
    }
  }

  private answer(slot: Slot<C, R>, results: readonly Result<R>[]): void {
    if (!this.slots.includes(slot)) return;
    const batch = slot.inFlight[0];
    if (batch === undefined || results.length === 0 || results.length > batch.length) {
      const expected = batch === undefined ? 'no batch in flight' : `a batch of ${batch.length}`;
      this.fault(slot, new Error(`${this.options.name}: ${results.length} results for ${expected}`));
      return;
    }
    slot.inFlight.shift();
    // Others may have their turn before the rest.
    for (const rest of batch.slice(results.length).reverse())
      this.mailbox.putBack(rest, rest.sizeBytes, rest.lane, rest.from);
    // The port gets its next batch first, so that it works while the callers are answered.
    this.dispatch();
    for (let index = 0; index < results.length; index += 1)
      this.pending.settle(batch[index]!.reply, results[index]!);
    this.closeIfDrained();
  }

  private fault(slot: Slot<C, R>, error: Error): void {
    this.detach(slot);
    this.options.onFault(error);
  }

  private detach(slot: Slot<C, R>): void {
    const at = this.slots.indexOf(slot);
    if (at === -1) return;
    this.slots.splice(at, 1);
    const restarted = fail(
      'ACTOR_RESTARTED',
      `the ${this.options.name} ended meanwhile; the outcome is unknown`,
    );
    for (const batch of slot.inFlight) for (const { reply } of batch) this.pending.settle(reply, restarted);
    this.closeIfDrained();
  }

  /** Answered messages keep their room until they are taken; a full mailbox frees it with one pass for each sweep. */
  private evictExpired(sizeBytes: number): boolean {
    if (this.expiredSinceEviction === 0) return false;
    this.expiredSinceEviction = 0;
    this.mailbox.removeWhere(({ reply }) => reply.settled);
    return this.mailbox.hasRoom(sizeBytes);
  }

  private expired(count: number): void {
    this.expiredSinceEviction += count;
    this.closeIfDrained();
  }

  private closeIfDrained(): void {
    if (this.state !== 'draining' || this.pending.size > 0) return;
    // An ask that met its deadline in flight is still being executed.
    if (this.slots.every((slot) => slot.inFlight.length === 0)) this.close('drained');
  }

  private close(outcome: StopOutcome): void {
    const { stopping } = this;
    if (stopping === null || this.state === 'closed') return;
    this.state = 'closed';
    stopping.timer.cancel();
    this.mailbox.close(({ reply }) => void this.pending.settle(reply, this.shuttingDown));
    this.pending.failAll('ACTOR_RESTARTED', `the ${this.options.name} was stopped; the outcome is unknown`);
    this.slots.length = 0;
    stopping.resolve(outcome);
  }
}

interface Envelope<C, R> {
  readonly command: C;
  readonly reply: PendingReply<R>;
  readonly sizeBytes: number;
  readonly lane: Lane;
  readonly from: string;
}

/** A port and the batches that it has not answered, oldest first. */
interface Slot<C, R> {
  readonly port: BatchPort<C, R>;
  readonly inFlight: Envelope<C, R>[][];
}

interface Stopping {
  readonly promise: Promise<StopOutcome>;
  readonly resolve: (outcome: StopOutcome) => void;
  readonly timer: Timer;
}
