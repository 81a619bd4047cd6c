import { operationId } from '../../protocol/log/operation-log.js';
import type { ParkedOperation } from '../../protocol/wire/bodies.js';

/** Most parked operations that are remembered for one peer; beyond that the oldest entries are forgotten. */
const PARKED_MAX = 10_000;

/** Most ranges of answers that are remembered; no write waits for older ones. */
const REPORTS_MAX = 16;

interface Range {
  readonly from: number;
  to: number;
}

/** How much of this node's own operations one peer durably has. */
export class ReplicationProgress {
  /** The own origin that this describes; null before the log was read. */
  origin: string | null = null;
  acked = 0;
  /**
   * Up to here the peer's operations are known to be these: it took or knew an own operation by its hash, which covers
   * all before it. Beyond, the peer only says that it has as many; after a rollback of the database those may be
   * others.
   */
  proven = 0;
  /** Sequences that the peer has without their taking effect, with the reason, oldest entry first. */
  readonly parked = new Map<number, string>();
  /**
   * Ranges for which an answer has said what took effect, ascending and disjoint. Outside them the peer may have an
   * operation, because an answer was lost or it pulled by itself. Such an operation may be parked there, and is no
   * acknowledgement.
   */
  private reports: Range[] = [];
  /** The first operation that a write waits for and that no answer has covered. */
  private unreported: number | null = null;
  private tickets = 0;
  private raisedAt = 0;

  /** Starts again when this node continues under another origin. */
  follow(origin: string, acked = 0): void {
    if (this.origin === origin) return;
    this.origin = origin;
    this.acked = acked;
    this.proven = 0;
    this.parked.clear();
    this.reports = [];
    this.unreported = null;
  }

  /** Where the next push begins. It begins early when that proves what the peer has, or what took effect there. */
  get from(): number {
    const from = this.proven < this.acked ? this.acked - 1 : this.acked;
    return this.unreported === null ? from : Math.min(from, this.unreported - 1);
  }

  /** The peer took, or knew, the own operations up to this one. */
  prove(seq: number): void {
    this.proven = Math.min(Math.max(this.proven, seq), this.acked);
  }

  /** A peer that cannot be called is trusted. */
  trust(): void {
    this.prove(this.acked);
    this.reports = [{ from: 1, to: this.acked }];
  }

  /** Drawn before a message is sent and returned with its answer: answers may overtake each other. */
  ticket(): number {
    this.tickets += 1;
    return this.tickets;
  }

  /**
   * Takes what the peer says that it has of the own origin. A peer that lost its disk has less than before; a lower
   * figure counts only in answer to a message that was sent after the higher figure was known.
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
   * Takes the peer's list of parked operations among those that were sent, from `from` to `to`. Operations no longer
   * listed have taken effect. An id that was not sent is ignored. `taken` is the last operation that the peer has. True
   * when more is known than before.
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

  /**
   * What the peer's copy of a range is worth: `durable` is an acknowledgement. An unknown range is noted as requested.
   */
  verdict(origin: string, from: number, to: number): 'durable' | 'waiting' | 'parked' {
    if (origin !== this.origin || this.proven < to) return 'waiting';
    if (!this.isReported(from, to)) {
      const missing = this.firstUnreported(from);
      this.unreported = Math.min(this.unreported ?? missing, missing);
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
    if (this.unreported !== null && this.unreported >= range.from) this.unreported = null;
    if (this.isReported(range.from, range.to)) return false;
    const apart = this.reports.filter((each) => each.to < range.from - 1 || each.from > range.to + 1);
    const joined = this.reports.filter((each) => !apart.includes(each));
    const whole = {
      from: Math.min(range.from, ...joined.map(({ from }) => from)),
      to: Math.max(range.to, ...joined.map(({ to }) => to)),
    };
    // The newest range stays, whatever else is dropped.
    const kept = apart.slice(-(REPORTS_MAX - 1));
    this.reports = [...kept, whole].sort((a, b) => a.from - b.from);
    return true;
  }
}
