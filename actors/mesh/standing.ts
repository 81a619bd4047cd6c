import type { ParkedOperation } from '../../protocol/mesh/wire.js';
import { operationId } from '../../protocol/replication/operation-log.js';

/** Parked operations that are remembered for one peer; of more, those that lie longest are forgotten. */
const PARKED_MAX = 10_000;

/** Ranges of answers that are remembered; nobody waits for what lies longer. */
const REPORTS_MAX = 16;

interface Range {
  readonly from: number;
  to: number;
}

/** How much of this node's own operations one peer durably has. */
export class Standing {
  /** The own origin that it is about; null before the log was read. */
  origin: string | null = null;
  acked = 0;
  /**
   * Up to here the peer's operations are known to be these: it took or knew an own operation by its hash, which covers
   * all before it. Beyond, it only says that it has as many, and after a database was put back they may be others.
   */
  proven = 0;
  /** Sequences that the peer has without their taking effect, with the reason, in the order of their coming. */
  readonly parked = new Map<number, string>();
  /**
   * Ranges about which an answer has said what took effect, ascending and apart. What a peer has without such an answer,
   * because that was lost or because it asked for it by itself, may be parked there, and is no acknowledgement.
   */
  private reports: Range[] = [];
  /** The first operation that somebody waits for and that no answer has reported on. */
  private wanted: number | null = null;
  private tickets = 0;
  private raisedAt = 0;

  /** Begins anew when this node goes on under another origin. */
  follow(origin: string, acked = 0): void {
    if (this.origin === origin) return;
    this.origin = origin;
    this.acked = acked;
    this.proven = 0;
    this.parked.clear();
    this.reports = [];
    this.wanted = null;
  }

  /** Where the next push begins: early when that proves what the peer has, or what took effect there. */
  get from(): number {
    const from = this.proven < this.acked ? this.acked - 1 : this.acked;
    return this.wanted === null ? from : Math.min(from, this.wanted - 1);
  }

  /** The peer took, or knew, the own operations up to this one. */
  prove(seq: number): void {
    this.proven = Math.min(Math.max(this.proven, seq), this.acked);
  }

  /** A peer that only calls is taken at its word. */
  trust(): void {
    this.prove(this.acked);
    this.reports = [{ from: 1, to: this.acked }];
  }

  /** To be drawn before a message is sent, and given back with its answer: answers may overtake each other. */
  ticket(): number {
    this.tickets += 1;
    return this.tickets;
  }

  /**
   * Takes what the peer says it has of the own origin. It may have less than before, because it lost its disk; that is
   * believed of a message alone that was sent after the higher figure was known.
   */
  observe(has: number, ticket: number): 'raised' | 'lowered' | 'same' {
    if (has === this.acked) return 'same';
    if (has < this.acked && ticket <= this.raisedAt) return 'same';
    const change = has > this.acked ? 'raised' : 'lowered';
    this.acked = has;
    this.proven = Math.min(this.proven, has);
    this.raisedAt = this.ticket();
    if (change === 'lowered') {
      this.reports = this.reports.filter(({ from }) => from <= has);
      const last = this.reports.at(-1);
      if (last !== undefined) last.to = Math.min(last.to, has);
      for (const seq of [...this.parked.keys()]) if (seq > has) this.parked.delete(seq);
    }
    return change;
  }

  /**
   * Takes the peer's list of operations without effect among those that were sent, from `from` to `to`; those that are
   * not listed any more have taken effect. An id that was not sent is passed over. `taken` is the last one that the peer
   * has. True when more is known than before.
   */
  setParked(from: number, to: number, parked: readonly ParkedOperation[], taken: number = to): boolean {
    if (this.origin === null) return false;
    const prefix = operationId(this.origin, 0).slice(0, -1);
    const now = new Map<number, string>();
    for (const { op_id: id, reason } of parked) {
      const seq = id.startsWith(prefix) ? Number(id.slice(prefix.length)) : Number.NaN;
      if (Number.isSafeInteger(seq) && seq >= from && seq <= to) now.set(seq, reason);
    }
    if (this.parked.size > 0)
      for (let seq = from; seq <= to; seq += 1) if (!now.has(seq)) this.parked.delete(seq);
    for (const [seq, reason] of now) this.parked.set(seq, reason);
    for (const seq of this.parked.keys()) {
      if (this.parked.size <= PARKED_MAX) break;
      this.parked.delete(seq);
    }
    return taken >= from && this.report({ from, to: taken });
  }

  /** What the peer's copy of a range is worth: `durable` is an acknowledgement. What is not known is asked for. */
  verdict(origin: string, from: number, to: number): 'durable' | 'waiting' | 'parked' {
    if (origin !== this.origin || this.proven < to) return 'waiting';
    if (!this.isReported(from, to)) {
      const missing = this.firstUnreported(from);
      this.wanted = Math.min(this.wanted ?? missing, missing);
      return 'waiting';
    }
    if (this.parked.size === 0) return 'durable';
    for (let seq = from; seq <= to; seq += 1) if (this.parked.has(seq)) return 'parked';
    return 'durable';
  }

  private isReported(from: number, to: number): boolean {
    return this.reports.some((each) => each.from <= from && each.to >= to);
  }

  private firstUnreported(from: number): number {
    let at = from;
    for (const each of this.reports) if (each.from <= at && each.to >= at) at = each.to + 1;
    return at;
  }

  private report(range: Range): boolean {
    if (this.wanted !== null && this.wanted >= range.from) this.wanted = null;
    if (this.isReported(range.from, range.to)) return false;
    const apart = this.reports.filter((each) => each.to < range.from - 1 || each.from > range.to + 1);
    const joined = this.reports.filter((each) => !apart.includes(each));
    const whole = {
      from: Math.min(range.from, ...joined.map(({ from }) => from)),
      to: Math.max(range.to, ...joined.map(({ to }) => to)),
    };
    // What was just said stays, whatever else is forgotten.
    const kept = apart.slice(-(REPORTS_MAX - 1));
    this.reports = [...kept, whole].sort((a, b) => a.from - b.from);
    return true;
  }
}
