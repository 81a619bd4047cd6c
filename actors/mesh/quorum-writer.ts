import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { QuorumOutcome } from './parts.js';
import type { PeerRecord } from './peer-record.js';

export interface QuorumWriterParts {
  /** W as configured. */
  readonly quorumWrites: number;
  /** The members without this node; null while they are unknown. */
  readonly members: () => readonly PeerRecord[] | null;
  /** Number of peers that the operator expects; missing peers do not make the quorum smaller. */
  readonly peersNamed: () => number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
  readonly onOutcome: (outcome: QuorumOutcome, waitedMs: number) => void;
}

interface Waiting {
  readonly origin: string;
  readonly from: number;
  readonly to: number;
  readonly startedAtMs: number;
  readonly acked: Set<string>;
  /** Peers that have the write without its taking effect; they will not become copies in time. */
  readonly parked: Set<string>;
  readonly resolve: (outcome: QuorumOutcome) => void;
  timer: Timer | null;
}

/**
 * Waits for copies: a write is replicated when W nodes, this one included, durably have it. The connections push, and
 * continue after the answer.
 */
export class QuorumWriter {
  private readonly waiting = new Set<Waiting>();
  private stopped = false;

  constructor(private readonly parts: QuorumWriterParts) {}

  /** W clamped to [1, N]; W itself while N is unknown, so that a starting node does not count as a mesh of one. */
  get needed(): number {
    const { quorumWrites, peersNamed } = this.parts;
    const members = this.parts.members();
    if (members === null) return Math.max(1, quorumWrites);
    return Math.max(1, Math.min(quorumWrites, 1 + Math.max(members.length, peersNamed())));
  }

  get pending(): number {
    return this.waiting.size;
  }

  replicated(origin: string, from: number, to: number, deadlineMs: number): Promise<QuorumOutcome> {
    const startedAtMs = this.parts.clock.monotonicMs();
    return new Promise((resolve) => {
      const each: Waiting = {
        origin,
        from,
        to,
        startedAtMs,
        acked: new Set(),
        parked: new Set(),
        resolve,
        timer: null,
      };
      this.waiting.add(each);
      if (this.stopped) this.answer(each, 'stopping');
      else if (!this.answerIfCertain(each)) {
        const waitMs = Math.max(0, deadlineMs - startedAtMs);
        each.timer = this.parts.scheduler.after(waitMs, () => this.answer(each, 'timeout'), {
          keepAlive: true,
        });
      }
    });
  }

  /** A peer's progress or reachability has changed. */
  changed(): void {
    for (const each of [...this.waiting]) this.answerIfCertain(each);
  }

  /** Starts work, at first and after a restart. */
  begin(): void {
    this.stopped = false;
  }

  /** Answers every waiting write with its present outcome. */
  stop(): void {
    this.stopped = true;
    for (const each of [...this.waiting]) this.answer(each, 'stopping');
  }

  /** Answers a write whose outcome is certain; true when it did. */
  private answerIfCertain(each: Waiting): boolean {
    const { needed } = this;
    const members = this.parts.members();
    if (members === null && needed > 1) return false;
    // Nodes that have it or can still get it in time.
    let possible = 1;
    for (const { replication, peerId, connection } of members ?? []) {
      if (!each.acked.has(peerId) && !each.parked.has(peerId)) {
        const verdict = replication.verdict(each.origin, each.from, each.to);
        if (verdict === 'durable') each.acked.add(peerId);
        if (verdict === 'parked') each.parked.add(peerId);
        if (verdict === 'waiting' && connection.state !== 'cut' && !connection.quarantined) possible += 1;
      }
      if (each.acked.has(peerId)) possible += 1;
    }
    if (1 + each.acked.size >= needed || possible < needed) {
      this.answer(each, each.parked.size > 0 ? 'parked' : 'unreachable');
      return true;
    }
    return false;
  }

  private answer(each: Waiting, miss: NonNullable<QuorumOutcome['reason']>): void {
    if (!this.waiting.delete(each)) return;
    each.timer?.cancel();
    const { needed } = this;
    const acks = 1 + each.acked.size;
    const met = acks >= needed;
    const outcome: QuorumOutcome = { acks, needed, met, reason: met ? null : miss };
    this.parts.onOutcome(outcome, this.parts.clock.monotonicMs() - each.startedAtMs);
    each.resolve(outcome);
  }
}
