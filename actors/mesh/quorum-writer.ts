import type { Clock, Scheduler, Timer } from '../../protocol/seams.js';
import type { QuorumOutcome } from './parts.js';
import type { PeerRecord } from './peer-record.js';

export interface QuorumWriterParts {
  /** W as configured. */
  readonly quorumWrites: number;
  /** The members, without this node; null while they are not known yet. */
  readonly members: () => readonly PeerRecord[] | null;
  /** Peers that there should be; a quorum is not made smaller because some of them are missing. */
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
  /** Peers that have it without its taking effect; they will not become copies in time. */
  readonly parked: Set<string>;
  readonly resolve: (outcome: QuorumOutcome) => void;
  timer: Timer | null;
}

/**
 * Waits for copies: a write is replicated when W nodes durably have it, this one included. Pushing is the links'
 * business, and goes on after the answer.
 */
export class QuorumWriter {
  private readonly waiting = new Set<Waiting>();
  private stopped = false;

  constructor(private readonly parts: QuorumWriterParts) {}

  /** W clamped to [1, N]; W itself while N is not known, so that a node that has just begun is not taken for a lone one. */
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
      else if (!this.judge(each)) {
        const waitMs = Math.max(0, deadlineMs - startedAtMs);
        each.timer = this.parts.scheduler.after(waitMs, () => this.answer(each, 'timeout'), {
          keepAlive: true,
        });
      }
    });
  }

  /** A peer's standing or reachability has changed. */
  changed(): void {
    for (const each of [...this.waiting]) this.judge(each);
  }

  /** Takes up work, at first and after a restart. */
  begin(): void {
    this.stopped = false;
  }

  /** Answers everybody with what there is. */
  stop(): void {
    this.stopped = true;
    for (const each of [...this.waiting]) this.answer(each, 'stopping');
  }

  /** True when it was answered. */
  private judge(each: Waiting): boolean {
    const { needed } = this;
    const members = this.parts.members();
    if (members === null && needed > 1) return false;
    // Those that can still become copies.
    let possible = 1;
    for (const { standing, peerId, link } of members ?? []) {
      if (!each.acked.has(peerId) && !each.parked.has(peerId)) {
        const verdict = standing.verdict(each.origin, each.from, each.to);
        if (verdict === 'durable') each.acked.add(peerId);
        if (verdict === 'parked') each.parked.add(peerId);
        if (verdict === 'waiting' && link.state !== 'cut' && !link.quarantined) possible += 1;
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
