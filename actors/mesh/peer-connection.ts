import { DLQ_REPLAY_BATCH_MIN } from '../../protocol/base/limits.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { CheckedPullReply } from '../../protocol/wire/pull-reply.js';
import type { CheckedPushReply } from '../../protocol/wire/push-message.js';
import { asError, type ExitReason, type RunningChild } from '../core/child.js';
import { type ConnectionState, REFUSAL_CAUSES, type RefusalCause } from './connection-state.js';
import type { Batch, Outgoing } from './outgoing.js';
import type { OwnLog } from './own-log.js';
import type { Delivered, PeerClient } from './peer-client.js';
import type { PeerRecord } from './peer-record.js';

export interface PeerConnectionParts {
  readonly client: PeerClient;
  readonly outgoing: Outgoing;
  readonly ownLog: OwnLog;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly batchMax: number;
  readonly pushed: (record: PeerRecord, operations: number, ms: number) => void;
  readonly peers: Observer;
  /** True while writes wait for this peer's copy. The other peers get theirs a moment later, in larger batches. */
  readonly isSynchronous: (record: PeerRecord) => boolean;
  /** How long operations are gathered for those other peers, in milliseconds. */
  readonly gatherMs: () => number;
  /** A peer takes long to answer a push: writes may wait for other peers instead. */
  readonly onSlow: () => void;
}

/** Receives what a peer says of the own origin. */
export interface Observer {
  /**
   * `has`: how much of the own origin the peer has, as said in answer to a message that was sent at `ticket`; null when
   * the answer did not say.
   */
  observe(
    record: PeerRecord,
    origin: string,
    has: number | null,
    ticket: number,
  ): 'raised' | 'lowered' | 'same';
  /** The peer says that from `seq` on it has other operations than the log. */
  contradicted(record: PeerRecord, seq: number): void;
}

type Job = 'probe' | 'push' | 'offer';

/** When the local store did not answer, it is asked again after this time. */
const LOCAL_RETRY_MS = 250;
/** For a peer that no write waits for, operations are gathered for a while, or until there are this many. */
const GATHER_OPERATIONS = 64;
const GATHER_MS_MIN = 100;
const GATHER_MS_MAX = 500;
const GATHER_MS_EACH = 10;
/** A push that takes longer than this is slow. */
const SLOW_PUSH_MS = 100;
/**
 * Most pushes under way to a peer that writes wait for: a later write need not wait for the answer to an earlier push.
 */
const PUSHES_MAX = 2;

/** How long operations are gathered with this many peers: each write then causes at most one push to each. */
export const gatherMs = (peers: number): number =>
  Math.min(GATHER_MS_MAX, Math.max(GATHER_MS_MIN, GATHER_MS_EACH * peers));

/**
 * What a connection does next. Pure. A peer that was not reached is probed with a small question before a batch is
 * sent. Quarantined deliveries are not sent; the peer is only probed.
 */
export function nextJob(connection: ConnectionState, owed: number, offers = 0): Job | null {
  if (connection.state === 'probing' || connection.quarantined) return 'probe';
  const silent =
    connection.cause === 'unreachable' || connection.cause === 'timeout' || connection.cause === 'untrusted';
  if (connection.failures > 0 && silent) return 'probe';
  if (owed > 0) return 'push';
  // The peer refused even a smaller batch: ask for its state.
  if (connection.failures > 0) return 'probe';
  return offers > 0 ? 'offer' : null;
}

/**
 * The connection to one peer: pushes the own operations that the peer lacks, and finds out when a silent peer is back.
 */
export class PeerConnection implements RunningChild {
  readonly stopped: Promise<ExitReason>;
  private end!: (reason: ExitReason) => void;
  /** True during a question, and while a push is being prepared. */
  private busy = false;
  private pushes = 0;
  /** The sequence after which each push under way begins. */
  private readonly underWay = new Set<number>();
  /** The last operation sent ahead of answers; null when an earlier push failed. */
  private sentTo: number | null = null;
  private sentOf: string | null = null;
  /**
   * Counts failed pushes. The outcome of a push that was sent before a failure says nothing about the peer's
   * willingness.
   */
  private round = 0;
  /** Since when, monotonic, operations wait for a peer that no write waits for. */
  private owedSinceMs: number | null = null;
  /** The timer of each push under way that is not slow yet. */
  private readonly slowTimers = new Set<Timer>();
  private stopping = false;
  private timer: Timer | null = null;

  constructor(
    private readonly record: PeerRecord,
    private readonly parts: PeerConnectionParts,
  ) {
    this.stopped = new Promise((resolve) => {
      this.end = resolve;
    });
    if (record.batchSize === 0) record.batchSize = DLQ_REPLAY_BATCH_MIN;
    this.wake();
  }

  /** Something has changed: look for work. */
  wake(): void {
    if (this.busy || this.stopping) return;
    this.timer?.cancel();
    this.timer = null;
    const { record, parts } = this;
    if (record.peer.url === null || parts.ownLog.origin === null) return;
    const from = this.pushes === 0 ? record.replication.from : this.sentTo;
    // The pushes under way belong to another epoch, or one of them failed.
    if (from === null || (this.pushes > 0 && this.sentOf !== parts.ownLog.origin)) return;
    const owed = parts.ownLog.end - from;
    const job = nextJob(record.connection, owed, record.offers.length);
    if (job === null) return;
    if (this.pushes > 0 && (job !== 'push' || this.pushes >= PUSHES_MAX || !parts.isSynchronous(record)))
      return;
    // Operations before those under way must be sent first.
    if (this.pushes > 0 && record.replication.from < Math.min(...this.underWay)) return;
    const fromMs = job === 'push' ? this.pushFromMs(owed) : record.notBeforeMs;
    const waitMs = fromMs - parts.clock.monotonicMs();
    if (waitMs > 0) {
      this.timer = parts.scheduler.after(waitMs, () => this.wake());
      return;
    }
    const done = job === 'push' ? this.push(from) : this.question(job);
    done.then(
      () => this.wake(),
      (error: unknown) => this.end({ kind: 'failed', error: asError(error) }),
    );
  }

  /** The earliest time, monotonic, for the next push. */
  private pushFromMs(owed: number): number {
    const { record, parts } = this;
    const { replication, connection, notBeforeMs, readsUntilMs } = record;
    const fromMs = Math.max(notBeforeMs, readsUntilMs);
    const plain = connection.failures === 0 && replication.from === replication.acked;
    if (!plain || owed >= GATHER_OPERATIONS || parts.isSynchronous(record)) return fromMs;
    this.owedSinceMs ??= parts.clock.monotonicMs();
    return Math.max(fromMs, this.owedSinceMs + parts.gatherMs());
  }

  /** Does not wait for an answer that is under way: it would not be used. */
  stop(): Promise<void> {
    this.stopping = true;
    this.timer?.cancel();
    for (const timer of this.slowTimers) timer.cancel();
    this.end({ kind: 'stopped' });
    return Promise.resolve();
  }

  private async question(job: 'probe' | 'offer'): Promise<void> {
    this.busy = true;
    await (job === 'probe' ? this.probe() : this.offer());
    this.busy = false;
  }

  /** Requests nothing in particular: the answer says what the peer has. */
  private async probe(): Promise<void> {
    const { record, parts } = this;
    const origin = parts.ownLog.origin!;
    const ticket = record.replication.ticket();
    // Starts from what the peer had, so that the answer is small.
    const answer = await parts.client.pull(record.peer, record.has, 1, { place: true });
    if (this.stopping) return;
    if (!answer.ok) {
      record.failed(answer.cause, answer.message, false, answer.aheadMs);
      return;
    }
    record.has = answer.reply.have;
    const change = parts.peers.observe(record, origin, saidOf(answer.reply, origin), ticket);
    record.answered(answer, change === 'raised');
    // A quarantined peer is probed from time to time.
    if (record.connection.quarantined) record.notBeforeMs = parts.clock.monotonicMs() + QUARANTINE_LOOK_MS;
  }

  /** Sends one parked operation again: the answer says whether it has taken effect meanwhile. */
  private async offer(): Promise<void> {
    const { record, parts } = this;
    const { replication, offers } = record;
    const seq = offers[0]!;
    const origin = parts.ownLog.origin!;
    const next = await parts.outgoing.next(origin, seq - 1, seq, record.peer, 1);
    const batch = next.ok ? next.value : null;
    if (batch === null) {
      record.notBeforeMs = parts.clock.monotonicMs() + LOCAL_RETRY_MS;
      return;
    }
    const answer = await parts.client.push(record.peer, parts.outgoing.message(batch, record.peerId));
    if (this.stopping) return;
    if (!answer.ok) {
      record.failed(answer.cause, answer.message, false, answer.aheadMs);
      return;
    }
    record.offers = record.offers.filter((each) => each !== seq);
    const refused = answer.reply.refused.length > 0 || (answer.reply.have[origin] ?? 0) < seq;
    const more =
      !refused && replication.origin === origin && replication.setParked(seq, seq, answer.reply.parked);
    record.answered(answer, more);
  }

  private async push(from: number): Promise<void> {
    const { record, parts } = this;
    const origin = parts.ownLog.origin!;
    const limit = Math.min(record.batchSize, parts.batchMax);
    this.busy = true;
    this.owedSinceMs = null;
    const behind = this.pushes > 0;
    const next = await parts.outgoing.next(origin, from, parts.ownLog.end, record.peer, limit);
    this.busy = false;
    const batch = next.ok ? next.value : null;
    if (batch === null) {
      // The log has fewer readable operations than its length says, or the store is busy: not a failure of the peer.
      record.notBeforeMs = parts.clock.monotonicMs() + LOCAL_RETRY_MS;
      return;
    }
    // The batch was read to follow a push that has failed meanwhile.
    if (this.stopping || (behind && this.sentTo !== from)) return;
    const sent: Sent = {
      batch,
      ticket: record.replication.ticket(),
      round: this.round,
      ahead: this.pushes > 0,
    };
    this.pushes += 1;
    this.underWay.add(batch.from);
    this.sentTo = batch.to;
    this.sentOf = batch.origin;
    const timer = parts.scheduler.after(SLOW_PUSH_MS, () => {
      this.slowTimers.delete(timer);
      record.slow = true;
      parts.onSlow();
    });
    this.slowTimers.add(timer);
    const answering = parts.client.push(record.peer, parts.outgoing.message(batch, record.peerId));
    // The batch may hold operations that were written after the log was last looked at.
    if (parts.ownLog.origin === batch.origin) parts.ownLog.reached(batch.origin, batch.to);
    // Operations written while this push was prepared follow at once.
    this.wake();
    const answer = await answering;
    timer.cancel();
    this.slowTimers.delete(timer);
    record.slow = false;
    this.pushes -= 1;
    this.underWay.delete(batch.from);
    if (this.stopping) return;
    // Each update of the record wakes connections; this one looks for work only when the whole answer is recorded.
    const { busy } = this;
    this.busy = true;
    this.pushed(sent, answer);
    this.busy = busy;
  }

  private pushed({ batch, ticket, round, ahead }: Sent, answer: Delivered<CheckedPushReply>): void {
    const { record, parts } = this;
    const { replication } = record;
    const current = round === this.round;
    if (!answer.ok) {
      this.inVain();
      if (!current) return;
      record.batchSize = Math.max(1, Math.floor((batch.to - batch.from) / 2));
      record.failed(answer.cause, answer.message, true, answer.aheadMs);
      return;
    }
    if (replication.origin !== batch.origin) {
      this.inVain();
      return;
    }
    const fork = answer.reply.refused.find(
      ({ origin, reason }) => origin === batch.origin && reason === 'fork',
    );
    if (fork !== undefined) {
      this.inVain();
      // The peer has other operations under these numbers than the log, however many it has.
      record.refused(answer, 'refused:fork', 'the peer has other operations under these sequence numbers');
      parts.peers.contradicted(record, Math.max(1, fork.seq - 1));
      return;
    }
    const has = answer.reply.have[batch.origin] ?? null;
    const before = replication.proven;
    const change = parts.peers.observe(record, batch.origin, has, ticket);
    const refusal = refusalOf(batch, answer.reply);
    const taken = Math.min(batch.to, has ?? 0, firstRefused(batch, answer.reply) - 1);
    const more = replication.setParked(batch.from + 1, batch.to, answer.reply.parked, taken);
    const whole = refusal === null && replication.acked >= batch.to;
    const overtook = ahead && refusal === 'gap';
    if (overtook) this.sentTo = null;
    else if (!whole) this.inVain();
    // The peer has the operations that it took, or knew by their hash.
    if (whole || (has !== null && has > batch.from && refusal !== 'gap')) replication.prove(taken);
    // A new place to begin at is an answer; the same gap again is not.
    const moved = change !== 'same' && (refusal === null || refusal === 'gap');
    const progress = change === 'raised' || replication.proven > before || more;
    if (whole) {
      record.answered(answer, progress);
      record.batchSize = Math.min(parts.batchMax, Math.max(record.batchSize, 2 * (batch.to - batch.from)));
      parts.pushed(record, batch.to - batch.from, answer.tookMs);
      return;
    }
    // The refused batch may have been read from a damaged log that will be repaired before the next read.
    parts.outgoing.forget(batch);
    // A push that overtook the one before it, or followed a failed one, is sent again next.
    if (moved || progress || !current || overtook) record.answered(answer, progress);
    if (moved || !current || overtook) return;
    const hasMore = has !== null && has > parts.ownLog.end;
    const cause =
      refusal !== null ? (`refused:${refusal}` as const) : hasMore ? 'refused:own_ahead' : 'rubbish';
    record.refused(answer, cause, 'the peer refused operations');
  }

  /** A push sent ahead was not taken whole; the next one starts from what the peer has. */
  private inVain(): void {
    this.sentTo = null;
    this.round += 1;
  }
}

/** A push under way. */
interface Sent {
  readonly batch: Batch;
  readonly ticket: number;
  readonly round: number;
  /** True when another push was under way. */
  readonly ahead: boolean;
}

/** How often a quarantined peer is probed. */
const QUARANTINE_LOOK_MS = 30_000;

/** What the answer to a pull says of an origin. */
export function saidOf(
  { have, denied }: Pick<CheckedPullReply, 'have' | 'denied'>,
  origin: string,
): number | null {
  return denied ? null : (have[origin] ?? 0);
}

/** The first operation of a batch that the peer refused; a sequence after the batch when it refused none. */
function firstRefused(batch: Batch, { refused }: CheckedPushReply): number {
  const seqs = refused.filter(({ origin }) => origin === batch.origin).map(({ seq }) => seq);
  return Math.min(batch.to + 1, ...seqs);
}

/** Why the peer did not take the whole batch; an unknown reason becomes `other`. */
function refusalOf(batch: Batch, reply: CheckedPushReply): RefusalCause | null {
  const first = reply.refused.find(
    ({ origin, seq }) => origin === batch.origin && seq > batch.from && seq <= batch.to,
  );
  if (first === undefined) {
    // The peer could not note the operation: a rule threw on it, and its log did not take it as parked.
    const broken = (reply.have[batch.origin] ?? 0) < batch.to && reply.parked.length > 0;
    return broken ? 'internal' : null;
  }
  const known: readonly string[] = REFUSAL_CAUSES;
  return known.includes(first.reason) ? (first.reason as RefusalCause) : 'other';
}
