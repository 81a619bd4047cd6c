import { DOUBT_REST_MS_MAX } from '../../protocol/base/limits.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { PeerRecord } from './peer-record.js';
import type { WriteGate } from './write-gate.js';

const DOUBT_HOLD_MS = 5000;
/** When a peer's claim proved wrong, its claims are ignored for this long at first. */
const WRONG_REST_MS = 60_000;
/** When a peer made a claim and did not answer the request for proof, its claims are ignored for this long at first. */
const SILENT_REST_MS = 15_000;

interface Rest {
  readonly ms: number;
  /** Monotonic. */
  readonly untilMs: number;
}

/**
 * Claims of peers that this database lost operations of its own. Writes wait while a peer is asked for proof, unless it
 * has a scope. Each claim that came to nothing doubles the time in which further claims of that peer are ignored.
 */
export class Doubts {
  private readonly open = new Set<PeerRecord>();
  private readonly rests = new Map<string, Rest>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly gate: WriteGate,
  ) {}

  /** A peer makes a claim; false when the claim is ignored. */
  begin(record: PeerRecord): boolean {
    const restsUntilMs = this.rests.get(record.peerId)?.untilMs ?? 0;
    if (this.open.has(record) || this.clock.monotonicMs() < restsUntilMs) return false;
    if (holdsWrites(record)) {
      if (this.anyHolds()) return false;
      this.gate.hold('doubt', DOUBT_HOLD_MS);
    }
    this.open.add(record);
    return true;
  }

  /** The claim needs no proof any more; false when there was none. */
  settle(record: PeerRecord): boolean {
    if (!this.open.delete(record)) return false;
    if (!this.anyHolds()) this.gate.release('doubt');
    return true;
  }

  /** The peer was asked for proof and gave none. `answered`: it answered the request. */
  cameToNothing(record: PeerRecord, answered: boolean): void {
    const nowMs = this.clock.monotonicMs();
    const before = this.rests.get(record.peerId);
    const lately = before !== undefined && nowMs - before.untilMs < DOUBT_REST_MS_MAX;
    const ms = Math.max(answered ? WRONG_REST_MS : SILENT_REST_MS, lately ? 2 * before.ms : 0);
    const restMs = Math.min(ms, DOUBT_REST_MS_MAX);
    this.rests.set(record.peerId, { ms: restMs, untilMs: nowMs + restMs });
  }

  /** The peer gave proof. */
  proved({ peerId }: PeerRecord): void {
    this.rests.delete(peerId);
  }

  private anyHolds(): boolean {
    return [...this.open].some(holdsWrites);
  }
}

const holdsWrites = ({ peer }: PeerRecord): boolean => peer.allowedNamespaces === null && !peer.pullDenied;
