import type { Clock, Log, Random, Scheduler, Timer } from '../../protocol/base/seams.js';
import { CHAIN_GENESIS } from '../../protocol/log/operation-log.js';
import type { Have, WireOperation } from '../../protocol/log/wire-operation.js';
import type { ApplyOutcome } from '../../protocol/replication/apply-operations.js';
import type { VerifiedBatch } from '../../protocol/replication/verified-batch.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import type { Store } from '../../storage/port.js';
import { asError, type ExitReason, type RunningChild } from '../core/child.js';
import { applyPage } from './apply-verified.js';
import { inTurn } from './parts.js';
import type { PeerClient } from './peer-client.js';
import { type Observer, saidOf } from './peer-connection.js';
import type { PeerRecord } from './peer-record.js';
import { ReadAhead, type VerifiedPage } from './read-ahead.js';

export interface PeerSyncParts {
  readonly store: Store;
  readonly client: PeerClient;
  readonly verifier: Pick<Verifier, 'ready' | 'page'>;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Pick<Random, 'unit'>;
  readonly log: Log;
  readonly peers: Observer;
  readonly records: () => readonly PeerRecord[];
  readonly ownOrigin: () => string | null;
  /** Operations that one page requests. */
  readonly pageMax?: number;
  /** Zero disables the rounds. */
  readonly intervalMs: number;
  readonly pulled: (record: PeerRecord, operations: number) => void;
  /**
   * A peer has proved with the own key that this database lost operations of its own. Resolves when the node continues
   * under another epoch; false when it cannot. `keep` is the last operation that both have.
   */
  readonly putBack: (record: PeerRecord, origin: string, keep: number) => Promise<boolean>;
  /** Catch-up with a peer ended; `complete` when all that the peer had was taken. */
  readonly caughtUp: (record: PeerRecord, complete: boolean) => void;
}

/** The content of a header without its place: two headers with the same content and the same past are one operation. */
const headerText = ({ hlc, kind, subject, payloadHash, prevHash }: WireOperation): string =>
  JSON.stringify([hlc, kind, subject, payloadHash, prevHash]);

/** Operations that one page requests unless the settings say otherwise. */
export const PULL_LIMIT = 1000;
/** A peer that takes longer to answer does not delay the others. */
const SLOW_MS = 500;
const PULLS_MAX = 3;
/** Most pages of one peer in a row. */
const PAGES_PER_TURN = 100;
const LOCAL_RETRIES = 5;
const LOCAL_RETRY_MS = 200;

/**
 * Catch-up: asks peers for what this node lacks, one peer after the other, so that operations that several of them
 * relay travel once. Its cursor is what is durably here, so nothing can be skipped.
 */
export class PeerSync implements RunningChild {
  readonly stopped: Promise<ExitReason>;
  private end!: (reason: ExitReason) => void;
  /** The peers to ask, with the sequence of the own origin from which a proof is requested. */
  private readonly queue = new Map<PeerRecord, number | null>();
  private readonly active = new Set<PeerRecord>();
  private slow = 0;
  private applying = 0;
  private stopping = false;
  private intervals = 0;
  private interval: Timer | null = null;
  /** Cancelled when catch-up stops. */
  private readonly pauses = new Set<Timer>();

  constructor(private readonly parts: PeerSyncParts) {
    this.stopped = new Promise((resolve) => {
      this.end = resolve;
    });
    this.arm();
  }

  /** Pulls from a peer soon; `proofFrom`: also what the peer has of the own origin from that sequence on. */
  request(record: PeerRecord, proofFrom: number | null = null): void {
    if (this.stopping || record.peer.url === null) return;
    const queuedFrom = this.queue.get(record) ?? null;
    this.queue.set(
      record,
      queuedFrom === null || proofFrom === null ? (proofFrom ?? queuedFrom) : Math.min(queuedFrom, proofFrom),
    );
    this.pump();
  }

  /** True while there is a peer to ask. */
  get busy(): boolean {
    return this.active.size + this.queue.size > 0;
  }

  /** Waits for a page that is being applied, not for a request that is under way. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.interval?.cancel();
    for (const pause of this.pauses) pause.cancel();
    this.queue.clear();
    if (this.applying === 0) this.end({ kind: 'stopped' });
    const reason = await this.stopped;
    if (reason.kind === 'failed') throw reason.error;
  }

  private arm(): void {
    const { intervalMs, scheduler, random, records } = this.parts;
    if (intervalMs === 0) return;
    // Spreads the rounds of nodes that were started together.
    this.interval = scheduler.after(Math.round(intervalMs * (0.75 + 0.5 * random.unit())), () => {
      this.arm();
      const asked = records().filter(({ connection }) => connection.state !== 'cut');
      for (const record of inTurn(asked, this.intervals)) this.request(record);
      this.intervals += 1;
    });
  }

  private pump(): void {
    for (const [record, proofFrom] of this.queue) {
      if (this.stopping || this.active.size >= PULLS_MAX || this.active.size > this.slow) return;
      if (this.active.has(record)) continue;
      this.queue.delete(record);
      this.active.add(record);
      this.catchUp(record, proofFrom).then(
        (complete) => {
          this.active.delete(record);
          if (this.stopping) return;
          if (complete) record.refusals.clear();
          this.parts.caughtUp(record, complete);
          this.pump();
        },
        (error: unknown) => this.end({ kind: 'failed', error: asError(error) }),
      );
    }
  }

  private async catchUp(record: PeerRecord, proofFrom: number | null): Promise<boolean> {
    let known = await this.knownHere();
    if (known === null) return false;
    // Origins that this node does not take from the peer for now; they must not delay the others.
    const blocked = new Set<string>();
    let proof = proofFrom;
    const ahead = this.readAhead(record);
    /** Origins of which only the peer has more, and of some of these only headers. */
    let orphans: readonly string[] = [];
    for (let pages = 0; !this.stopping; pages += 1) {
      // After this many pages other peers have their turn.
      if (pages === PAGES_PER_TURN) {
        this.request(record);
        return false;
      }
      const own = this.parts.ownOrigin();
      const have = proof !== null && own !== null ? { ...known, [own]: Math.max(0, proof - 1) } : known;
      const requested =
        blocked.size === 0 ? null : Object.keys(record.has).filter((each) => !blocked.has(each));
      // Headers prove the loss as well as payloads do.
      const how =
        orphans.length > 0
          ? { origins: orphans, stubs: true }
          : { origins: requested, stubs: proof !== null };
      const answered: VerifiedPage | null = await (ahead.next(known)?.page ?? this.page(record, have, how));
      if (answered === null || this.stopping) return false;
      const page = answered.reply;
      if (page.operations.length === 0) {
        if (orphans.length > 0 || blocked.size > 0) return blocked.size === 0;
        orphans = this.orphansAt(record, known);
        if (orphans.length === 0) return true;
        continue;
      }
      // The next pages travel and are verified while this one is applied.
      if (blocked.size === 0 && proof === null && orphans.length === 0) ahead.goOn(known, page);
      const outcome = await this.take(answered.batch, record.peerId);
      if (outcome === null) return false;
      const ownRefused = outcome.refused.find(
        ({ origin, reason }) => origin === own && (reason === 'own_ahead' || reason === 'fork'),
      );
      if (own !== null && ownRefused !== undefined) {
        const theirs = page.operations.filter(({ origin }) => origin === own).map(({ seq }) => seq);
        const ownEnd = known[own] ?? 0;
        const keep = await this.lastShared(record, own, ownEnd, Math.max(...theirs));
        if (keep === null || !(await this.isParting(record, own, keep, ownEnd))) return false;
        if (this.stopping || !(await this.parts.putBack(record, own, keep))) return false;
        known = await this.knownHere();
        if (known === null) return false;
        proof = null;
        continue;
      }
      const before: Have = known;
      const progressed = Object.entries(outcome.have).some(([origin, seq]) => seq > (before[origin] ?? 0));
      known = { ...before, ...outcome.have };
      this.parts.pulled(record, outcome.applied);
      const refusedNow = outcome.refused.filter(({ origin }) => !blocked.has(origin));
      for (const { origin } of refusedNow) blocked.add(origin);
      if (refusedNow.length > 0) {
        ahead.drop();
        const { origin, seq, reason } = refusedNow[0]!;
        if (!record.refusals.has(reason))
          this.parts.log.warn(
            { peer: record.peerId, origin, seq, reason },
            'operations of a peer were refused',
          );
        record.refusals.add(reason);
      }
      if (!page.more && blocked.size === 0) return true;
      // A page that brings nothing new and is not refused would be requested for ever.
      if (!progressed && refusedNow.length === 0 && proof === null) return false;
      proof = null;
    }
    return false;
  }

  /** Origins of which the peer has more than it sent, and no other peer sent more either. */
  private orphansAt(record: PeerRecord, known: Have): string[] {
    const own = this.parts.ownOrigin();
    const isBeyond = ({ has }: PeerRecord, origin: string) => (has[origin] ?? 0) > (known[origin] ?? 0);
    const kept = Object.keys(record.has).filter((origin) => origin !== own && isBeyond(record, origin));
    for (const origin of kept) record.keptBack.set(origin, known[origin] ?? 0);
    const gaveNothing = (each: PeerRecord, origin: string) =>
      !isBeyond(each, origin) || each.keptBack.get(origin) === (known[origin] ?? 0);
    return kept.filter((origin) => this.parts.records().every((each) => gaveNothing(each, origin)));
  }

  /**
   * The last own operation that the peer and the log share. It must be exact: later own operations are renamed to a new
   * origin, and no node recognises a renamed operation as the old one. Null when the peer or the store did not answer.
   */
  private async lastShared(
    record: PeerRecord,
    own: string,
    ownEnd: number,
    theirEnd: number,
  ): Promise<number | null> {
    let shared = 0;
    let parted = Math.min(theirEnd, ownEnd) + 1;
    for (let at = parted - 1; parted - shared > 1; at = Math.floor((shared + parted) / 2)) {
      const alike = await this.isAlike(record, own, at);
      if (alike === null || this.stopping) return null;
      if (alike) shared = at;
      else parted = at;
    }
    return shared;
  }

  /**
   * Verifies the result of the search, because an operation that gets a new origin without need would be lost. The
   * peer's operation after the last shared one must follow that one, be signed by the own key, and differ from the own
   * operation there.
   */
  private async isParting(record: PeerRecord, own: string, keep: number, ownEnd: number): Promise<boolean> {
    const { client, store } = this.parts;
    const from = { [own]: keep };
    const how = { origins: [own], place: true, stubs: true };
    const answer = await client.pull(record.peer, from, 1, how);
    const known = await store.query({ kind: 'known-origins' });
    const query = { kind: 'read-operations', have: from, origins: [own], limit: 1, bytesMax: 1 } as const;
    const here = await store.query(query);
    if (!answer.ok || !known.ok || !here.ok || this.stopping) return false;
    const theirs = answer.reply.operations.find(({ origin, seq }) => origin === own && seq === keep + 1);
    const ours = here.value.operations.find(({ origin, seq }) => origin === own && seq === keep + 1);
    const end = ownEnd === 0 ? CHAIN_GENESIS : known.value.heads[own]?.hash;
    const shared = keep < ownEnd ? ours?.prevHash : end;
    if (theirs === undefined || shared === undefined || theirs.prevHash !== shared) return false;
    await this.parts.verifier.ready();
    const outcome = await applyPage(this.parts, this.parts.verifier.page(answer.reply), record.peerId);
    const refused = outcome.ok ? outcome.value.refused : [];
    const expected = keep < ownEnd ? 'fork' : 'own_ahead';
    return refused.some(
      ({ origin, seq, reason }) => origin === own && seq === keep + 1 && reason === expected,
    );
  }

  private async isAlike(record: PeerRecord, own: string, seq: number): Promise<boolean | null> {
    const from = { [own]: seq - 1 };
    const how = { origins: [own], place: true, stubs: true };
    let answer = await this.parts.client.pull(record.peer, from, 1, how);
    for (let again = 0; !answer.ok && again < LOCAL_RETRIES && !this.stopping; again += 1)
      answer = await this.parts.client.pull(record.peer, from, 1, how);
    const query = { kind: 'read-operations', have: from, origins: [own], limit: 1, bytesMax: 1 } as const;
    const here = await this.parts.store.query(query);
    if (!answer.ok || !here.ok) return null;
    const isIt = (operation: WireOperation) => operation.origin === own && operation.seq === seq;
    const [theirs, ours] = [answer.reply.operations.find(isIt), here.value.operations.find(isIt)];
    if (theirs === undefined || ours === undefined) return null;
    return headerText(theirs) === headerText(ours);
  }

  /** Requests pages after those that are not applied yet. */
  private readAhead(record: PeerRecord): ReadAhead {
    return new ReadAhead((from) => {
      if (this.stopping) return Promise.resolve(null);
      const page = this.page(record, from, { place: true });
      // The caller may never await it.
      page.catch((error: unknown) => this.end({ kind: 'failed', error: asError(error) }));
      return page;
    });
  }

  /** One page; records what the answer says of the peer. Null when there was no answer. */
  private async page(
    record: PeerRecord,
    have: Have,
    how: Parameters<PeerClient['pull']>[3],
  ): Promise<VerifiedPage | null> {
    const own = this.parts.ownOrigin();
    const ticket = record.replication.ticket();
    let isSlow = false;
    const timer = this.parts.scheduler.after(SLOW_MS, () => {
      this.pauses.delete(timer);
      isSlow = true;
      this.slow += 1;
      this.pump();
    });
    this.pauses.add(timer);
    const { client, pageMax = PULL_LIMIT } = this.parts;
    const answer = await client.pull(record.peer, have, pageMax, how);
    timer.cancel();
    this.pauses.delete(timer);
    if (isSlow) this.slow -= 1;
    if (this.stopping) return null;
    if (!answer.ok) {
      record.failed(answer.cause, answer.message, false, answer.aheadMs);
      return null;
    }
    await this.parts.verifier.ready();
    record.has = answer.reply.have;
    if (answer.reply.root !== null) record.root = answer.reply.root;
    const said = own === null ? null : saidOf(answer.reply, own);
    const change = own === null ? 'same' : this.parts.peers.observe(record, own, said, ticket);
    record.answered(answer, change === 'raised');
    return { reply: answer.reply, batch: this.parts.verifier.page(answer.reply) };
  }

  /** Applies a page; null when the store refused, which is not the peer's fault. */
  private async take(page: VerifiedBatch, from: string): Promise<ApplyOutcome | null> {
    for (let tries = 0; tries < LOCAL_RETRIES && !this.stopping; tries += 1) {
      if (tries > 0) await this.pause(LOCAL_RETRY_MS * tries);
      this.applying += 1;
      const outcome = await applyPage(this.parts, page, from);
      this.applying -= 1;
      if (this.stopping && this.applying === 0) this.end({ kind: 'stopped' });
      if (outcome.ok) return outcome.value;
      this.parts.log.warn({ peer: from, code: outcome.error.code }, 'a page of a peer could not be applied');
    }
    return null;
  }

  private async knownHere(): Promise<Have | null> {
    const known = await this.parts.store.query({ kind: 'known-origins' });
    if (!known.ok) return null;
    return Object.fromEntries(Object.entries(known.value.heads).map(([origin, { seq }]) => [origin, seq]));
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      const timer = this.parts.scheduler.after(ms, () => {
        this.pauses.delete(timer);
        resume();
      });
      this.pauses.add(timer);
    });
  }
}
