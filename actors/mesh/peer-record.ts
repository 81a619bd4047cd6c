import type { Clock, Log, Random } from '../../protocol/base/seams.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { Peer } from '../../protocol/peers/peer.js';
import {
  type Cause,
  type ConnectionEvent,
  type ConnectionState,
  FRESH_CONNECTION,
  isTrouble,
  nextState,
  waitAfter,
} from './connection-state.js';
import { EntropyState } from './entropy-state.js';
import type { Delivered } from './peer-client.js';
import { ReplicationProgress } from './replication-progress.js';

/** The part of an answer that describes the peer. */
export interface Said {
  readonly have: Have;
  readonly version: string | null;
}

export interface PeerRecordParts {
  readonly clock: Clock;
  readonly random: Pick<Random, 'unit'>;
  readonly log: Log;
  /** Called after each change of what is known. */
  readonly onChange: (record: PeerRecord, change: RecordChange) => void;
  /** Called for each failed delivery; `quarantined` when this failure put the peer aside. */
  readonly onFailed: (cause: Cause, quarantined: boolean) => void;
}

/** `reconnected`: the peer answers after a failure, or for the first time. `progress`: it has more or less of ours. */
export type RecordChange = 'reconnected' | 'progress' | 'state';

/** A clock skew from which on a warning is logged (design: mesh). */
const SKEW_WARN_MS = 5000;

/** A failure that comes again within this time after the last one is not warned of again. */
const WARN_AGAIN_MS = 60_000;

/** Shortest time between two tries of a peer that contacts this node but cannot be reached. */
const CONTACT_RETRY_MS = 250;

/**
 * All that a node knows of one peer. It outlives the connection, which may be restarted. Connections, catch-up and the
 * inbound side write into it.
 */
export class PeerRecord {
  readonly replication = new ReplicationProgress();
  readonly entropy = new EntropyState();
  connection: ConnectionState = FRESH_CONNECTION;
  /** All that the peer had at its last full answer. */
  has: Have = {};
  /**
   * For origins of which the peer has more but sent nothing: this node's sequence then. The peer has only the headers.
   */
  readonly keptBack = new Map<string, number>();
  /** Why operations that it gave were refused, since all that it had was last taken. */
  readonly refusals = new Set<string>();
  /** Not tried again before this instant, monotonic. */
  notBeforeMs = 0;
  /** Until then, monotonic, the peer reads pages that include what a push would send. */
  readsUntilMs = 0;
  /** A push to this peer takes long; writes should not wait for it. */
  slow = false;
  /** Operations that an older release of the peer parked, to be offered to its present release. */
  offers: number[] = [];
  /** Most operations that the next push carries. */
  batchSize = 0;
  skewMs: number | null = null;
  /** When the peer was last heard of, how far this node's clock was ahead of its clock, at least. */
  private heard: { readonly aheadMs: number; readonly atMs: number; readonly monotonicMs: number } | null =
    null;
  version: string | null = null;
  root: string | null = null;
  lastError: string | null = null;
  lastAnswerAtMs: number | null = null;
  firstFailedAtMs: number | null = null;
  lastFailedAtMs: number | null = null;
  /** Monotonic. */
  private failedAtMs = 0;
  /** The failure that was last warned of, and until when, monotonic, it is not warned of again. */
  private warnedOf: string | null = null;
  private quietUntilMs = 0;

  constructor(
    public peer: Peer,
    private readonly parts: PeerRecordParts,
  ) {}

  get peerId(): string {
    return this.peer.peerId;
  }

  /**
   * How far this node's clock is ahead of the peer's, at least: what the last answer showed, less what the clock was set
   * back since. Null while the peer does not answer.
   */
  get aheadMs(): number | null {
    if (this.heard === null) return null;
    const { aheadMs, atMs, monotonicMs } = this.heard;
    const { clock } = this.parts;
    const setMs = clock.nowMs() - atMs - (clock.monotonicMs() - monotonicMs);
    return Math.min(aheadMs, aheadMs + setMs);
  }

  /** This node continues under another origin: refused operations of the former origin are no longer owed. */
  follow(origin: string): void {
    if (this.replication.origin === origin) return;
    this.replication.follow(origin);
    this.apply({ kind: 'offer-again' });
    this.notBeforeMs = 0;
  }

  /** Records what a genuine answer says of the peer itself. `progress`: the peer has more of ours than before. */
  answered(delivered: Delivered<Said> & { ok: true }, progress: boolean): void {
    const before = this.connection.state;
    const changed = this.recordAnswer(delivered);
    this.apply({ kind: 'answered', progress });
    // A peer that refuses operations still answers; that answer does not shorten the wait.
    if (changed || this.connection.attempts === 0 || !this.connection.cause?.startsWith('refused:'))
      this.notBeforeMs = 0;
    if (progress) this.firstFailedAtMs = null;
    if (this.connection.attempts === 0) this.lastError = null;
    if (before !== 'healthy') this.parts.onChange(this, 'reconnected');
    if (progress) this.parts.onChange(this, 'progress');
    if (changed) this.parts.onChange(this, 'state');
  }

  /** The peer fetched more of ours by itself: its earlier refusals no longer count. */
  progressed(): void {
    this.apply({ kind: 'offer-again' });
    if (this.connection.failures === 0) this.notBeforeMs = 0;
    this.parts.onChange(this, 'progress');
  }

  /** Records an answer that refuses a delivery. */
  refused(delivered: Delivered<Said> & { ok: true }, cause: Cause, message: string): void {
    this.recordAnswer(delivered);
    this.failed(cause, message, true);
  }

  /** Records what any genuine answer says; true when the peer runs another release than before. */
  private recordAnswer({ reply, skewMs, tookMs }: Delivered<Said> & { ok: true }): boolean {
    const changed = this.version !== null && reply.version !== this.version;
    this.lastAnswerAtMs = this.parts.clock.nowMs();
    this.measured(skewMs);
    // The peer may have read its clock at any time between question and answer.
    this.heardAhead(-skewMs - tookMs / 2);
    this.version = reply.version;
    if (changed) {
      this.apply({ kind: 'offer-again' });
      this.offers = [...this.replication.parked].flatMap(([seq, why]) =>
        why === 'out_of_scope' ? [] : [seq],
      );
    }
    return changed;
  }

  /**
   * Records a failure and when to try again. `delivery`: the message carried operations. `aheadMs`: what the refusal says
   * about the clocks.
   */
  failed(cause: Cause, message: string, delivery: boolean, aheadMs: number | null = null): void {
    if (aheadMs !== null) {
      this.measured(Math.round(-aheadMs));
      this.heardAhead(aheadMs);
    } else if (!cause.startsWith('refused:') && cause !== 'overloaded' && cause !== 'throttled')
      this.heard = null;
    const { clock, random, log } = this.parts;
    const before = this.connection;
    this.apply({ kind: 'failed', cause, delivery });
    this.lastError = `${cause}: ${message}`;
    this.lastFailedAtMs = clock.nowMs();
    this.firstFailedAtMs ??= this.lastFailedAtMs;
    this.failedAtMs = clock.monotonicMs();
    this.notBeforeMs = this.failedAtMs + waitAfter(this.connection, random.unit());
    const { state, quarantined, attempts } = this.connection;
    const changed = before.state !== state || before.quarantined !== quarantined;
    if (changed && this.isNews(`${state} ${quarantined} ${cause}`)) {
      log[isTrouble(this.connection) ? 'warn' : 'info'](
        { peer: this.peerId, state, quarantined, attempts, cause, reason: message },
        'a peer cannot be reached or refuses operations',
      );
    }
    if (delivery) this.parts.onFailed(cause, this.connection.quarantined && !before.quarantined);
    this.parts.onChange(this, 'state');
  }

  /** The peer was in contact, so a wait may be cut short. */
  contacted(): void {
    if (this.connection.failures === 0) return;
    this.apply({ kind: 'contacted' });
    this.notBeforeMs = Math.min(this.notBeforeMs, this.failedAtMs + CONTACT_RETRY_MS);
    this.parts.onChange(this, 'state');
  }

  /** True unless this failure was the last one to be warned of and failures went on since then. */
  private isNews(failure: string): boolean {
    const nowMs = this.parts.clock.monotonicMs();
    const goesOn = failure === this.warnedOf && nowMs < this.quietUntilMs;
    this.warnedOf = failure;
    this.quietUntilMs = nowMs + WARN_AGAIN_MS;
    return !goesOn;
  }

  private apply(event: ConnectionEvent): void {
    this.connection = nextState(this.connection, event);
  }

  private heardAhead(aheadMs: number): void {
    const { clock } = this.parts;
    this.heard = { aheadMs, atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  }

  private measured(skewMs: number): void {
    const off = (ms: number | null) => ms !== null && Math.abs(ms) > SKEW_WARN_MS;
    if (off(skewMs) && !off(this.skewMs))
      this.parts.log.warn(
        { peer: this.peerId, skewMs },
        'the clock of a peer differs from the clock of this node; set both clocks',
      );
    this.skewMs = skewMs;
  }
}
