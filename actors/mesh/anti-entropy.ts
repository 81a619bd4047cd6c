import type { Subject } from '../../protocol/kinds/kind.js';
import * as limits from '../../protocol/limits.js';
import { digestsWithin, namespacesOf } from '../../protocol/mesh/digest.js';
import { mayHold } from '../../protocol/mesh/peer.js';
import { differingSubjects, type KindNamespace, type RangesQuestion } from '../../protocol/mesh/ranges.js';
import {
  checkNamespacesReply,
  checkOperationsReply,
  checkSubjectsReply,
  type Dated,
} from '../../protocol/mesh/ranges-messages.js';
import type { Have } from '../../protocol/mesh/wire.js';
import { operationId } from '../../protocol/replication/operation-log.js';
import type { MissingPayload, RepairOutcome } from '../../protocol/replication/repair-subjects.js';
import type { Clock, Log } from '../../protocol/seams.js';
import { instantFromMs } from '../../protocol/time.js';
import type { NextRound } from '../core/loop.js';
import { type RepairRequest, type RowRepair, repairRows } from '../maintenance/repair-rows.js';
import type { Comparison } from './entropy-state.js';
import { type MeshEvent, PEERS_ASKED } from './parts.js';
import type { Delivered, PeerClient } from './peer-client.js';
import type { PeerRecord } from './peer-record.js';

export interface AntiEntropyParts extends RowRepair {
  readonly client: PeerClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly records: () => readonly PeerRecord[];
  readonly intervalMs: number;
  readonly onEvent: ((event: MeshEvent) => void) | undefined;
  /** True once no new work may begin. */
  readonly stopping: () => boolean;
}

interface Compared {
  readonly comparison: Comparison;
  /** The operations that only one of the two nodes has. */
  readonly gap: number;
  /** Rows that were repaired. */
  readonly repaired: number;
  readonly differing: readonly KindNamespace[];
}

/** A peer whose operations are still on their way is asked again after this time. */
const BEHIND_MS = 2000;
/**
 * After this many `behind` comparisons in a row the rows are compared all the same: in a busy mesh two nodes never have
 * equal logs. Comparisons while one of them catches up do not count: most rows differ then.
 */
const BEHIND_MAX = 5;
/** After a repair the rows are compared again after this time. */
const REPAIRED_MS = 250;
/**
 * After a failed repair the rows are compared again after this time: the other node may be the one that repairs them.
 */
const UNEQUAL_MS = 5000;
const IDLE_MS = 1000;
const NOTHING_COUNTED = { recounted: [] };
/** Most namespaces that a noted alarm names. */
const NOTED_MAX = 10;

/**
 * Layer three (design: mesh): compares the rows of this node with each peer's on a schedule and after a reconnect. It
 * repairs the rows of this node from the own log where that suffices, else with operations that the peer sends. Each
 * node repairs only itself, so no answer of a peer changes a row that the log can vouch for.
 */
export class AntiEntropy {
  /** When each peer is due to be compared, monotonic. */
  private readonly dueMs = new Map<string, number>();
  /** When each peer was last compared, monotonic. */
  private readonly comparedMs = new Map<string, number>();

  constructor(private readonly parts: AntiEntropyParts) {}

  /** Compares with a peer at the next round. */
  request(peerId: string): void {
    this.dueMs.set(peerId, 0);
  }

  /**
   * A peer found a difference when it compared: compare soon, but do not answer each comparison with another for ever.
   */
  differing(record: PeerRecord): void {
    const dueMs = this.dueMs.get(record.peerId) ?? 0;
    const lastMs = this.comparedMs.get(record.peerId) ?? Number.NEGATIVE_INFINITY;
    if (record.entropy.diverged) return;
    this.dueMs.set(record.peerId, Math.min(dueMs, Math.max(0, lastMs + BEHIND_MS)));
  }

  /** Compares with one peer. */
  async round(): Promise<NextRound> {
    const { clock, intervalMs, records } = this.parts;
    if (intervalMs === 0) return { afterMs: IDLE_MS };
    const nowMs = clock.monotonicMs();
    const candidates = records().filter(
      ({ peer, connection }) => peer.url !== null && connection.state === 'healthy',
    );
    let next: PeerRecord | null = null;
    let soonestMs = nowMs + IDLE_MS;
    for (const record of candidates) {
      const dueMs = this.dueMs.get(record.peerId) ?? 0;
      soonestMs = Math.min(soonestMs, dueMs);
      if (dueMs <= nowMs && (next === null || dueMs < (this.dueMs.get(next.peerId) ?? 0))) next = record;
    }
    if (next === null) return { afterMs: soonestMs - nowMs };
    this.note(next, await this.compare(next));
    return { afterMs: 0 };
  }

  private note(record: PeerRecord, { comparison, gap, repaired, differing }: Compared): void {
    const { clock, log, onEvent, records } = this.parts;
    const intervalMs = this.parts.intervalMs * Math.max(1, records().length / PEERS_ASKED);
    const { peerId, entropy } = record;
    const wasDiverged = entropy.diverged;
    const at = instantFromMs(clock.nowMs());
    entropy.note({ comparison, gap, differing: namespacesOf(differing), at });
    const waits = { behind: BEHIND_MS, repaired: REPAIRED_MS, unequal: UNEQUAL_MS };
    const waitMs =
      comparison === 'equal' || comparison === 'failed'
        ? intervalMs
        : Math.min(waits[comparison], intervalMs);
    // A standing alarm is logged only once.
    this.comparedMs.set(peerId, clock.monotonicMs());
    this.dueMs.set(peerId, clock.monotonicMs() + (wasDiverged ? intervalMs : waitMs));
    onEvent?.({ kind: 'compared', peerId, comparison, repaired });
    if (repaired > 0) log.warn({ peer: peerId, repaired }, 'rows that were damaged or missing are repaired');
    if (entropy.diverged !== wasDiverged) this.noteAlarm();
    if (entropy.diverged && !wasDiverged) {
      log.error(
        { code: 'MESH_DIVERGED', peer: peerId, namespaces: namespacesOf(differing.slice(0, 5)) },
        'the rows differ from a peer although both have the same operations',
      );
    }
  }

  /** Stores the alarm where `doctor` finds it, also after this process has ended. */
  private noteAlarm(): void {
    const { store, records, log } = this.parts;
    const diverged = records()
      .filter(({ entropy }) => entropy.diverged)
      .map(({ peerId, entropy }) => ({ peer: peerId, namespaces: entropy.differing.slice(0, NOTED_MAX) }));
    const command = { kind: 'note-integrity', name: 'mesh', facts: { diverged }, audit: null } as const;
    store.execute(command, { lane: 'background' }).then(
      (noted) => {
        if (!noted.ok) log.warn({ code: noted.error.code }, 'an alarm could not be stored for doctor');
      },
      (error: unknown) => log.warn({ err: error }, 'an alarm could not be stored for doctor'),
    );
  }

  private async compare(record: PeerRecord): Promise<Compared> {
    const { store } = this.parts;
    const failed = { comparison: 'failed', gap: 0, repaired: 0, differing: [] } as const;
    const before = await store.query({ kind: 'known-origins' });
    const digests = await store.query({ kind: 'read-digests' });
    const after = await store.query({ kind: 'known-origins' });
    if (!before.ok || !digests.ok || !after.ok) return failed;
    const ours = digestsWithin(digests.value.digests, (name) => mayHold(record.peer, name));
    const have = haveOf(before.value.heads);
    const answer = await this.ask(record, { kind: 'namespaces', have, digests: ours }, checkNamespacesReply);
    if (answer === null) return failed;
    const differing = answer.differing.filter(({ namespace }) => mayHold(record.peer, namespace));
    const gap = gapBetween(have, answer.have);
    if (differing.length === 0) return { comparison: 'equal', gap, repaired: 0, differing };
    const still = before.value.commitSequence === after.value.commitSequence;
    const comparable = still && gap === 0;
    if (!comparable && record.entropy.behind < BEHIND_MAX)
      return { comparison: 'behind', gap, repaired: 0, differing };
    // A forced comparison is not followed by another one at once.
    record.entropy.behind = 0;
    let repaired = 0;
    for (const of of differing.slice(0, limits.RANGE_NAMESPACES_MAX)) {
      const done = await this.repairNamespace(record, of, comparable);
      if (done === null) return { comparison: 'failed', gap, repaired, differing };
      repaired += done;
    }
    if (repaired > 0) return { comparison: 'repaired', gap, repaired, differing };
    return { comparison: comparable ? 'unequal' : 'behind', gap, repaired, differing };
  }

  /** The number of repaired rows; null when the peer or the store did not answer. */
  private async repairNamespace(
    record: PeerRecord,
    of: KindNamespace,
    comparable: boolean,
  ): Promise<number | null> {
    // The digest of the namespace itself may be wrong. Recounting it makes the writer read every row.
    const counted = comparable ? await this.repair({ subjects: [], recount: [of] }) : NOTHING_COUNTED;
    if (counted === null) return null;
    const repaired = await this.repairRanges(record, of);
    return repaired === null ? null : repaired + counted.recounted.length;
  }

  private async repairRanges(record: PeerRecord, of: KindNamespace): Promise<number | null> {
    const { store } = this.parts;
    let repaired = 0;
    for (let from: number | null = 0; from !== null; ) {
      const ranges = await store.query({ kind: 'read-ranges', of }, { lane: 'background' });
      if (!ranges.ok) return null;
      const question = { kind: 'subjects', of, ranges: ranges.value.ranges, from } as const;
      const theirs: Awaited<ReturnType<typeof this.askSubjects>> = await this.askSubjects(record, question);
      if (theirs === null) return null;
      const ours = await store.query(
        {
          kind: 'read-range-subjects',
          of,
          ranges: theirs.ranges,
          limit: Number.MAX_SAFE_INTEGER,
        },
        { lane: 'background' },
      );
      if (!ours.ok) return null;
      const ids = differingSubjects(ours.value.subjects, theirs.subjects);
      const subjects = ids.map((id) => ({ kind: of.kind, id }));
      const done = await this.repairSubjects(record, subjects);
      if (done === null) return null;
      repaired += done;
      // A peer whose cursor does not advance would keep this node in the loop for ever.
      from = theirs.next !== null && theirs.next > from ? theirs.next : null;
    }
    return repaired;
  }

  private askSubjects(record: PeerRecord, question: RangesQuestion) {
    return this.ask(record, question, checkSubjectsReply);
  }

  /** The number of repaired rows; null when the peer or the store did not answer. */
  private async repairSubjects(record: PeerRecord, subjects: readonly Subject[]): Promise<number | null> {
    let repaired = 0;
    for (let at = 0; at < subjects.length; at += limits.REPAIR_SUBJECTS_MAX) {
      const some = subjects.slice(at, at + limits.REPAIR_SUBJECTS_MAX);
      const own = await this.repair({ subjects: some, recount: [] });
      if (own === null) return null;
      repaired += own.repaired.length;
      const missing = own.missing.slice(0, limits.RANGE_OPERATIONS_MAX);
      if (missing.length === 0) continue;
      const back = await this.askBack(record, missing);
      if (back === null) return null;
      if (back.operations.length + back.withheld.length === 0) continue;
      const again = await this.repair({
        subjects: missing.map(({ kind, subject: id }) => ({ kind, id })),
        recount: [],
        ...back,
      });
      if (again === null) return null;
      repaired += again.repaired.length + again.restored;
    }
    return repaired;
  }

  /** Asks a peer for operations whose payload is missing here. */
  private async askBack(record: PeerRecord, missing: readonly MissingPayload[]) {
    const places = missing.map(({ origin, seq }) => ({ origin, seq }));
    const answer = await this.ask(record, { kind: 'operations', places }, checkOperationsReply);
    if (answer === null) return null;
    const requested = new Set(places.map(({ origin, seq }) => operationId(origin, seq)));
    const isRequested = ({ origin, seq }: { origin: string; seq: number }) =>
      requested.has(operationId(origin, seq));
    return {
      operations: answer.operations.filter((each) => each.payload !== null && isRequested(each)),
      withheld: answer.withheld.filter(isRequested).map(({ origin, seq }) => operationId(origin, seq)),
    };
  }

  private async repair(
    request: Pick<RepairRequest, 'subjects' | 'recount'> & Partial<RepairRequest>,
  ): Promise<RepairOutcome | null> {
    const { log, stopping } = this.parts;
    if (stopping()) return null;
    const done = await repairRows(this.parts, {
      operations: [],
      withheld: [],
      dryRun: false,
      ...request,
    });
    if (done.ok) return done.value;
    log.warn({ code: done.error.code }, 'the rows that differ from a peer could not be repaired');
    return null;
  }

  private async ask<R>(
    record: PeerRecord,
    question: RangesQuestion,
    check: (body: Uint8Array) => Dated<R> | null,
  ): Promise<Dated<R> | null> {
    if (this.parts.stopping()) return null;
    const answer: Delivered<Dated<R>> = await this.parts.client.ask(record.peer, question, check);
    if (answer.ok) return answer.reply;
    this.parts.log.debug(
      { peer: record.peerId, cause: answer.cause, reason: answer.message },
      'a peer was not compared with',
    );
    return null;
  }
}

const haveOf = (heads: Readonly<Record<string, { readonly seq: number }>>): Have =>
  Object.fromEntries(Object.entries(heads).map(([origin, { seq }]) => [origin, seq]));

/** The number of operations that only one of two nodes has. */
function gapBetween(a: Have, b: Have): number {
  const origins = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...origins].reduce((sum, origin) => sum + Math.abs((a[origin] ?? 0) - (b[origin] ?? 0)), 0);
}
