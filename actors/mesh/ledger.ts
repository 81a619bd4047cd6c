import type { Clock, Log } from '../../protocol/base/seams.js';
import type { PeerParked, PeerProgress } from '../../protocol/replication/peer-progress.js';
import type { Store } from '../../storage/port.js';
import type { Cause } from './connection-state.js';
import type { OwnLog } from './own-log.js';
import type { PeerRecord } from './peer-record.js';

/** The ledger is written in the background; the store may take this long. */
const SAVE_TIMEOUT_MS = 5000;
/** Most parked operations that one save writes or removes. */
const PARKED_PER_SAVE = 2000;

/** What a starting node reads from the ledger. */
export interface Remembered {
  readonly progress: ReadonlyMap<string, PeerProgress>;
  readonly parked: readonly PeerParked[];
}

/**
 * The durable ledger of deliveries: how far each peer is, what is owed to it after a failure and why, and which
 * operations have no effect there. It is written lazily; a peer's own answer takes precedence.
 */
export class DeliveryLedger {
  private readonly saved = new Map<string, string>();
  /** By peer and origin: the sequences that the table holds. */
  private readonly savedParked = new Map<string, Set<number>>();

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly ownLog: OwnLog,
  ) {}

  /** What was known before the restart; null when the store did not answer. */
  async load(): Promise<Remembered | null> {
    const rows = await this.store.query({ kind: 'list-peer-progress' });
    if (!rows.ok) return null;
    for (const each of rows.value.parked) this.parkedOf(each.peerId, each.origin).add(each.seq);
    return {
      progress: new Map(rows.value.progress.map((each) => [each.peerId, each])),
      parked: rows.value.parked,
    };
  }

  /** Writes what has changed; false when the caller must try again. */
  async save(records: readonly PeerRecord[]): Promise<boolean> {
    const rows = records.flatMap((record) => this.rowOf(record) ?? []);
    const progress = rows.filter((row) => this.saved.get(row.peerId) !== JSON.stringify(row));
    const { parked, settled } = this.changedParked(records);
    if (progress.length + parked.length + settled.length === 0) return true;
    const done = await this.store.execute(
      { kind: 'save-peer-progress', progress, parked, settled },
      { lane: 'background', timeoutMs: SAVE_TIMEOUT_MS },
    );
    if (!done.ok) {
      this.log.warn(
        { code: done.error.code },
        'the ledger of deliveries could not be written; it is tried again',
      );
      return false;
    }
    for (const row of progress) this.saved.set(row.peerId, JSON.stringify(row));
    for (const { peerId, origin, seq } of parked) this.parkedOf(peerId, origin).add(seq);
    for (const { peerId, origin, seq } of settled) this.parkedOf(peerId, origin).delete(seq);
    return true;
  }

  private rowOf(record: PeerRecord): PeerProgress | null {
    const { replication, connection } = record;
    if (replication.origin === null) return null;
    const owes = (connection.failures > 0 || connection.attempts > 0) && this.ownLog.end > replication.acked;
    const waitMs = record.notBeforeMs - this.clock.monotonicMs();
    return {
      peerId: record.peerId,
      origin: replication.origin,
      acked: replication.acked,
      owedTo: owes ? this.ownLog.end : 0,
      attempts: connection.attempts,
      quarantined: connection.quarantined,
      cause: owes ? connection.cause : null,
      firstFailedAtMs: owes ? record.firstFailedAtMs : null,
      lastFailedAtMs: owes ? record.lastFailedAtMs : null,
      // Rounded to the second: a row that differs by less need not be written again.
      nextTryAtMs: owes && waitMs > 0 ? Math.ceil((this.clock.nowMs() + waitMs) / 1000) * 1000 : null,
      version: record.version,
    };
  }

  private changedParked(records: readonly PeerRecord[]) {
    const parked: PeerParked[] = [];
    const settled: Pick<PeerParked, 'peerId' | 'origin' | 'seq'>[] = [];
    for (const { replication, peerId } of records) {
      const { origin } = replication;
      if (origin === null) continue;
      const before = this.parkedOf(peerId, origin);
      for (const [seq, reason] of replication.parked) {
        if (parked.length >= PARKED_PER_SAVE) break;
        // Operations out of a peer's scope are not owed to it.
        if (reason === 'out_of_scope' || before.has(seq)) continue;
        parked.push({ peerId, origin, seq, reason, notedAtMs: this.clock.nowMs() });
      }
      for (const seq of before) {
        if (settled.length >= PARKED_PER_SAVE) break;
        if (!replication.parked.has(seq)) settled.push({ peerId, origin, seq });
      }
    }
    return { parked, settled };
  }

  private parkedOf(peerId: string, origin: string): Set<number> {
    const key = `${peerId} ${origin}`;
    const known = this.savedParked.get(key) ?? new Set<number>();
    this.savedParked.set(key, known);
    return known;
  }
}

/** Restores a peer's progress from the ledger. */
export function restoreProgress(record: PeerRecord, remembered: Remembered | null): void {
  const row = remembered?.progress.get(record.peerId);
  if (row === undefined) return;
  record.version = row.version;
  record.replication.follow(row.origin, row.acked);
  for (const each of remembered?.parked ?? [])
    if (each.peerId === row.peerId && each.origin === row.origin)
      record.replication.parked.set(each.seq, each.reason);
  record.firstFailedAtMs = row.firstFailedAtMs;
  record.lastFailedAtMs = row.lastFailedAtMs;
  // The peer is probed first in any case, so only the causes that this node writes need to match.
  const { attempts, quarantined } = row;
  record.connection = { ...record.connection, attempts, quarantined, cause: row.cause as Cause | null };
}
