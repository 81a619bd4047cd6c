import { fail, type Result } from '../../protocol/base/result.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { Command } from '../../protocol/release.js';
import { UNHEARD } from '../core/commits.js';
import { Listeners } from '../core/listeners.js';
import { loopChild } from '../core/loop.js';
import { type Supervisor, startSupervisor } from '../core/supervisor.js';
import { Doubts } from './doubts.js';
import { forwardTo } from './forward.js';
import { DeliveryLedger, type Remembered, restoreProgress } from './ledger.js';
import { meshStatus } from './mesh-status.js';
import { Outgoing } from './outgoing.js';
import { OwnLog } from './own-log.js';
import type { Acknowledgement, MeshParts, MeshStatus, PeerNews, QuorumOutcome } from './parts.js';
import { PeerClient } from './peer-client.js';
import { gatherMs } from './peer-connection.js';
import { PeerConnections, type PeerConnectionsParts, ringFrom } from './peer-connections.js';
import { PeerRecord, type RecordChange } from './peer-record.js';
import { PeerSync, PULL_LIMIT } from './peer-sync.js';
import { QuorumWriter } from './quorum-writer.js';
import { retryParked } from './retry-parked.js';
import { RowDuties } from './row-duties.js';
import { WriteGate } from './write-gate.js';

/** Replication of one node. Until it is started it knows no peer, and writes wait. */
export interface Mesh {
  readonly rows: Pick<RowDuties, 'suspected'>;
  /** Called once, when the store answers. */
  start(): void;
  /** The own log has grown; this or another process wrote. Returns a function that removes the listener. */
  onGrown(listener: () => void): () => void;
  status(): MeshStatus;
  /**
   * Waits until enough peers durably have the own operations `from` to `to`, at most until `deadlineMs` (monotonic).
   * Also tells the peer connections that there is something to push.
   */
  replicated(origin: string, from: number, to: number, deadlineMs: number): Promise<QuorumOutcome>;
  /** Which nodes have one of this node's operations. */
  acknowledgements(origin: string, seq: number): readonly Acknowledgement[];
  /** Passes a command on to the home of its subject. */
  forward(peerId: string, command: Command): Promise<Result<Readonly<Record<string, unknown>>>>;
  /**
   * False while writes must wait: before the start, then until the peers were asked (2 s at most), and after the database
   * was rolled back until the node has caught up under a new epoch.
   */
  accepting(): boolean;
  /** Resolves when writes may begin. */
  whenAccepting(): Promise<void>;
  /** How far this node's clock is ahead of the clocks of all peers that answer, at least; 0 when none does. */
  clockAheadMs(): number;
  /** Another process or a local call has written: read the log now. */
  wake(): void;
  /** The own operations that a peer is not known to have; null when it has all. */
  news(peerId: string): PeerNews | null;
  /** A peer says that it has new operations: pull them. */
  hint(peerId: string): void;
  /**
   * A genuine message of a peer arrived. `have`: what the peer said that it has (the cursor of a pull). `reads`: how far
   * it has read the log of this node (the cursor of a page).
   */
  contacted(peerId: string, have: Have | null, reads?: Have | null): void;
  /** A peer found that its rows differ from this node's: compare with it soon. */
  differing(peerId: string): void;
  /** Writes the ledger and ends, without waiting for answers that are under way. */
  stop(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** A gathered push may be this much later than announced; after that the peer gets a hint instead. */
const PUSH_GRACE_MS = 150;
/** How long a starting node waits for its peers to say what they have of it. */
const START_HOLD_MS = 2000;
const RECOVERY_HOLD_MS = 60_000;
/** How long to wait for a paging peer to ask for its next page before pushing resumes. */
const READS_REST_MS = 500;
const LEDGER_INTERVAL_MS = 2000;
const LOCAL_RETRY_MS = 250;
/** Interval of reading the log where no other process uses the database. */
const IDLE_POLL_MS = 60_000;

/** Makes the parts of replication: peer connections, quorum, catch-up and the ledger of deliveries. Nothing runs yet. */
export function openMesh(parts: MeshParts): Mesh {
  return new Replication(parts);
}

class Replication implements Mesh {
  private supervisor: Supervisor | null = null;
  private readonly records = new Map<string, PeerRecord>();
  private members: readonly PeerRecord[] = [];
  /** The members in the order of their ids, starting after this node's id. */
  private ring: readonly PeerRecord[] = [];
  private remembered: Remembered | null = null;
  private readonly gate: WriteGate;
  private readonly ownLog: OwnLog;
  private readonly client: PeerClient;
  private readonly outgoing: Outgoing;
  private readonly quorum: QuorumWriter;
  private readonly ledger: DeliveryLedger;
  private connections: PeerConnections | null = null;
  private sync: PeerSync | null = null;
  private readonly watch: ReturnType<typeof loopChild>;
  private readonly grown = new Listeners();
  readonly rows: RowDuties;
  private readonly doubts: Doubts;
  private recoveringFrom: PeerRecord | null = null;

  constructor(private readonly parts: MeshParts) {
    const { store, clock, scheduler, random, self, transport, log, settings } = parts;
    const requestTimeoutMs = settings.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.gate = new WriteGate(scheduler);
    this.gate.hold('unstarted', null);
    this.doubts = new Doubts(clock, this.gate);
    this.ownLog = new OwnLog(store, clock, (change) => this.logChanged(change));
    this.client = new PeerClient({ self, transport, clock, random, requestTimeoutMs });
    this.outgoing = new Outgoing(self, store, this.client, clock);
    this.ledger = new DeliveryLedger(store, clock, log, this.ownLog);
    this.quorum = new QuorumWriter({
      quorumWrites: settings.quorumWrites,
      peersNamed: settings.peersNamed ?? (() => 0),
      members: () => (this.connections === null ? null : this.members),
      clock,
      scheduler,
      onOutcome: ({ met }, ms) => parts.onEvent?.({ kind: 'quorum', met, ms }),
    });
    this.rows = new RowDuties(parts, this.client, () => this.members);
    this.watch = this.logWatch();
  }

  start(): void {
    const { clock, scheduler, random, log, policy } = this.parts;
    this.gate.hold('start', START_HOLD_MS);
    this.gate.release('unstarted');
    const save = () => this.ledger.save([...this.records.values()]);
    const dlq = loopChild({
      id: 'dlq-replayer',
      policy,
      scheduler,
      clock,
      firstAfterMs: LEDGER_INTERVAL_MS,
      round: () => save().then(() => ({ afterMs: LEDGER_INTERVAL_MS })),
      onStop: async () => void (await save()),
    });
    const onFailure = ({ childId, error, decision }: { childId: string; error: Error; decision: object }) =>
      log.error({ err: error, actor: childId, decision }, 'a part of replication failed');
    this.supervisor = startSupervisor({
      clock,
      scheduler,
      random,
      onFailure,
      children: [
        dlq.spec,
        { id: 'quorum-writer', policy, start: () => Promise.resolve(this.startQuorum()) },
        { id: 'peer-sync', policy, start: () => Promise.resolve(this.startSync()) },
        { id: 'roster', policy, start: () => this.startConnections(onFailure) },
        this.watch.spec,
        ...this.rows.specs,
      ],
    });
  }

  onGrown(listener: () => void): () => void {
    return this.grown.add(listener);
  }

  status(): MeshStatus {
    const { ownLog, members, quorum, parts } = this;
    return meshStatus({
      ownLog,
      members,
      clock: parts.clock,
      accepting: this.accepting(),
      configured: parts.settings.quorumWrites,
      needed: quorum.needed,
    });
  }

  replicated(origin: string, from: number, to: number, deadlineMs: number): Promise<QuorumOutcome> {
    // An epoch that ended meanwhile must not come back.
    if (this.ownLog.origin === null || this.ownLog.origin === origin) this.ownLog.reached(origin, to);
    else this.wake();
    return this.quorum.replicated(origin, from, to, deadlineMs);
  }

  acknowledgements(origin: string, seq: number): readonly Acknowledgement[] {
    return this.members.map(({ peerId, replication, has }) => {
      // The connections do not track an earlier epoch, but the peer's last full answer does.
      if (origin !== replication.origin) {
        return { peerId, state: (has[origin] ?? 0) >= seq ? 'durable' : 'waiting', reason: null };
      }
      if (replication.acked < seq) return { peerId, state: 'waiting', reason: null };
      const reason = replication.parked.get(seq) ?? null;
      return { peerId, state: reason === null ? 'durable' : 'parked', reason };
    });
  }

  forward(peerId: string, command: Command): Promise<Result<Readonly<Record<string, unknown>>>> {
    if (this.supervisor === null) {
      const message = `replication has not begun, so ${peerId} cannot be asked yet; try again`;
      return Promise.resolve(fail('HOME_UNREACHABLE', message, { home: peerId }));
    }
    return forwardTo(this.client, this.records.get(peerId)?.peer ?? null, peerId, command);
  }

  accepting(): boolean {
    return this.gate.open;
  }

  whenAccepting(): Promise<void> {
    return this.gate.wait();
  }

  clockAheadMs(): number {
    const heard = this.members.flatMap(({ aheadMs }) => aheadMs ?? []);
    return heard.length === 0 ? 0 : Math.max(0, Math.min(...heard));
  }

  wake(): void {
    this.watch.wake.now();
  }

  news(peerId: string): PeerNews | null {
    const record = this.records.get(peerId);
    const { origin, end } = this.ownLog;
    if (record === undefined || origin === null || record.replication.acked >= end) return null;
    const pushed = record.peer.url !== null && record.connection.state === 'healthy';
    const pushedWithinMs = pushed ? gatherMs(this.ring.length) + PUSH_GRACE_MS : null;
    return { origin, seq: end, acked: record.replication.acked, pushedWithinMs };
  }

  hint(peerId: string): void {
    const record = this.records.get(peerId);
    record?.contacted();
    if (record !== undefined) this.sync?.request(record);
  }

  contacted(peerId: string, have: Have | null, reads: Have | null = null): void {
    const record = this.records.get(peerId);
    if (record === undefined) return;
    if (reads !== null && this.ownLog.end - (reads[this.ownLog.origin ?? ''] ?? 0) > PULL_LIMIT)
      record.readsUntilMs = this.parts.clock.monotonicMs() + READS_REST_MS;
    if (have !== null) {
      record.has = have;
      const { origin } = this.ownLog;
      // The time of the statement is unknown, so it may raise what is known but not lower it.
      if (origin !== null && this.observe(record, origin, have[origin] ?? null, 0) === 'raised')
        record.progressed();
    }
    record.contacted();
  }

  differing(peerId: string): void {
    const record = this.records.get(peerId);
    if (record !== undefined) this.rows.differing(record);
  }

  async stop(): Promise<void> {
    this.rows.end();
    this.gate.close();
    if (this.supervisor === null) this.quorum.stop();
    await this.supervisor?.stop();
  }

  /** Reads the log for what other processes write. */
  private logWatch(): ReturnType<typeof loopChild> {
    const { policy, scheduler, clock, settings, commits = UNHEARD } = this.parts;
    const mayHaveChanged = commits.reader();
    let seen = false;
    const round = async () => {
      if (mayHaveChanged() || !seen) seen = await this.ownLog.refresh();
      return { afterMs: seen ? settings.logPollMs || IDLE_POLL_MS : LOCAL_RETRY_MS };
    };
    return loopChild({ id: 'log-watch', policy, scheduler, clock, round });
  }

  private startQuorum() {
    this.quorum.begin();
    return child(() => this.quorum.stop());
  }

  private startSync(): PeerSync {
    const { store, verifier, clock, scheduler, random, log, settings } = this.parts;
    this.sync = new PeerSync({
      store,
      client: this.client,
      verifier,
      clock,
      scheduler,
      random,
      log,
      peers: this,
      records: () => this.members,
      ownOrigin: () => this.ownLog.origin,
      ...(settings.pullBatchMax === undefined ? {} : { pageMax: settings.pullBatchMax }),
      intervalMs: settings.catchupIntervalMs,
      pulled: ({ peerId }, operations) => this.parts.onEvent?.({ kind: 'pulled', peerId, operations }),
      putBack: (record, origin, shared) => this.putBack(record, origin, shared),
      caughtUp: (record, complete) => this.caughtUp(record, complete),
    });
    for (const record of this.members) if (record.connection.state === 'healthy') this.sync.request(record);
    return this.sync;
  }

  private async startConnections(onFailure: PeerConnectionsParts['onFailure']): Promise<PeerConnections> {
    const { self, roster, clock, scheduler, random, policy, settings } = this.parts;
    this.remembered ??= await this.ledger.load();
    await this.ownLog.refresh();
    await retryParked(this.parts.store);
    this.connections = new PeerConnections({
      roster,
      seams: { clock, scheduler, random },
      policy,
      recordOf: (peerId) => this.recordOf(peerId),
      onMembers: (members) => {
        this.members = members;
        this.ring = ringFrom(self.peerId, members);
        this.quorum.changed();
        this.look();
      },
      onFailure,
      connection: {
        client: this.client,
        outgoing: this.outgoing,
        ownLog: this.ownLog,
        clock,
        scheduler,
        batchMax: settings.pushBatchMax,
        peers: this,
        isSynchronous: (record) => this.isSynchronous(record),
        gatherMs: () => gatherMs(this.ring.length),
        onSlow: () => this.connections?.wakeAll(),
        pushed: ({ peerId }, operations, ms) =>
          this.parts.onEvent?.({ kind: 'pushed', peerId, operations, ms }),
      },
    });
    // The members are known only now. There may be no member to wait for.
    this.quorum.changed();
    this.look();
    return this.connections;
  }

  /**
   * Writes wait for as many peers as the quorum needs: the next healthy ones in a ring of all nodes, so that not all
   * nodes wait for the same peers. Peers with a scope have no full copy and come last.
   */
  private isSynchronous(record: PeerRecord): boolean {
    const well = this.ring.filter(
      ({ peer, connection, slow }) => peer.url !== null && connection.state === 'healthy' && !slow,
    );
    const whole = well.filter(({ peer }) => peer.allowedNamespaces === null);
    const narrow = well.filter(({ peer }) => peer.allowedNamespaces !== null);
    return [...whole, ...narrow].slice(0, this.quorum.needed - 1).includes(record);
  }

  private recordOf(peerId: string): PeerRecord {
    const known = this.records.get(peerId);
    if (known !== undefined) return known;
    const peer = this.parts.roster.find(peerId);
    if (peer === null) throw new Error('the roster does not know a member of its own list');
    const { clock, random, log } = this.parts;
    const record = new PeerRecord(peer, {
      clock,
      random,
      log,
      onChange: (changed, change) => this.changed(changed, change),
      onFailed: (cause, quarantined) => {
        this.parts.onEvent?.({ kind: 'push-failed', peerId, cause });
        if (quarantined) this.parts.onEvent?.({ kind: 'quarantined', peerId });
      },
    });
    restoreProgress(record, this.remembered);
    if (this.ownLog.origin !== null) record.replication.follow(this.ownLog.origin);
    this.records.set(peerId, record);
    return record;
  }

  /** A peer says what it has of the own origin (Observer). */
  observe(
    record: PeerRecord,
    origin: string,
    has: number | null,
    ticket: number,
  ): 'raised' | 'lowered' | 'same' {
    const { ownLog } = this;
    if (has === null || ownLog.origin !== origin || record.replication.origin !== origin) return 'same';
    if (has > ownLog.end) {
      // The peer's count does not tell how many of its operations are the same as ours.
      this.contradicted(record, ownLog.end + 1);
      return 'same';
    }
    const change = record.replication.observe(has, ticket);
    // A peer that cannot be pushed to is trusted, unless it has a scope: then it may hold only headers.
    if (record.peer.url === null && record.peer.allowedNamespaces === null) record.replication.trust();
    return change;
  }

  /**
   * A peer says that it has operations of the own origin that the log lacks or has differently. It is asked for them: only
   * operations that the own key signed prove that the database was rolled back.
   */
  contradicted(record: PeerRecord, seq: number): void {
    if (!this.doubts.begin(record)) return;
    const { origin, end } = this.ownLog;
    this.ownLog.refresh().then(
      () => {
        // Another process may have written the operations, and this one not have read the log yet.
        if (this.ownLog.origin === origin && this.ownLog.end === end) this.sync?.request(record, seq);
        else this.doubts.settle(record);
      },
      () => void this.doubts.settle(record),
    );
  }

  private async putBack(record: PeerRecord, origin: string, keep: number): Promise<boolean> {
    const { store, random, log, onEvent } = this.parts;
    if (this.ownLog.origin !== origin) return true;
    this.gate.hold('put-back', RECOVERY_HOLD_MS);
    this.recoveringFrom = record;
    const epoch = random.uuid().replaceAll('-', '').slice(0, 16);
    const reason = `peer ${record.peerId} has operations of ${origin} that this database lost`;
    const begun = await store.execute({ kind: 'begin-epoch', epoch, reason, keep });
    if (!begun.ok) {
      log.error({ code: begun.error.code }, 'the database was rolled back, but no new epoch could begin');
      this.gate.release('put-back');
      return false;
    }
    log.warn(
      { origin, next: begun.value.origin, peer: record.peerId },
      'the database was rolled back: the node continues under a new epoch',
    );
    onEvent?.({ kind: 'epoch-begun', origin: begun.value.origin });
    await this.ownLog.refresh();
    return true;
  }

  private caughtUp(record: PeerRecord, complete: boolean): void {
    if (this.doubts.settle(record)) {
      if (this.recoveringFrom === null) this.doubts.cameToNothing(record, complete);
      else this.doubts.proved(record);
    }
    if (this.recoveringFrom === null || !complete) return;
    // Any peer suffices: operations that only another peer has come with the next rounds.
    this.recoveringFrom = null;
    this.gate.release('put-back');
  }

  private changed(record: PeerRecord, change: RecordChange): void {
    if (change === 'reconnected') {
      this.sync?.request(record);
      this.rows.reconnected(record.peerId);
    }
    this.quorum.changed();
    if (change === 'progress') this.connections?.wake(record.peerId);
    // Writes may wait for another peer now.
    else this.connections?.wakeAll();
    this.look();
  }

  /** Opens the gate of the start when each peer has answered or failed to. */
  private look(): void {
    if (!this.gate.held('start') || this.connections === null) return;
    const asked = this.members.every((each) => each.peer.url === null || each.connection.state !== 'probing');
    if (asked) this.gate.release('start');
  }

  private logChanged(change: 'origin' | 'grown'): void {
    const { origin } = this.ownLog;
    if (change === 'origin' && origin !== null) {
      for (const record of this.records.values()) record.follow(origin);
      this.quorum.changed();
    }
    this.connections?.wakeAll();
    this.grown.tell();
  }
}

/** A child without work of its own. */
function child(stop: () => void) {
  let end!: (reason: { kind: 'stopped' }) => void;
  const stopped = new Promise<{ kind: 'stopped' }>((resolve) => {
    end = resolve;
  });
  return {
    stopped,
    stop: () => {
      stop();
      end({ kind: 'stopped' });
      return Promise.resolve();
    },
  };
}
