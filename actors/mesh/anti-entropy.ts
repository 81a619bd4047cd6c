import * as limits from '../../protocol/base/limits.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import { namespacesOf } from '../../protocol/log/digest.js';
import { operationId } from '../../protocol/log/operation-log.js';
import {
  differingSubjects,
  type KindNamespace,
  type OperationPlace,
  type RangesQuestion,
} from '../../protocol/log/ranges.js';
import type { RepairOutcome } from '../../protocol/replication/repair-subjects.js';
import { checkOperationsReply, checkSubjectsReply } from '../../protocol/wire/ranges-messages.js';
import type { NextRound } from '../core/loop.js';
import { type RepairRequest, type RowRepair, repairRows } from '../maintenance/repair-rows.js';
import { compareBuckets, compareNamespaces } from './compare-namespaces.js';
import type { Comparison } from './entropy-state.js';
import { type MeshEvent, PEERS_ASKED } from './parts.js';
import type { PeerClient } from './peer-client.js';
import { PeerQuestions } from './peer-questions.js';
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

const FAILED: Compared = { comparison: 'failed', gap: 0, repaired: 0, differing: [] };

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
    const questions = new PeerQuestions(next.peer, this.parts);
    const compared = await this.compare(next, questions);
    if (compared.comparison !== 'failed') await this.takePayloads(next);
    this.note(next, compared, questions.problem);
    return { afterMs: 0 };
  }

  private note(
    record: PeerRecord,
    { comparison, gap, repaired, differing }: Compared,
    problem: string | null,
  ): void {
    const { clock, log, onEvent, records } = this.parts;
    const intervalMs = this.parts.intervalMs * Math.max(1, records().length / PEERS_ASKED);
    const { peerId, entropy } = record;
    const { diverged: wasDiverged, problem: before } = entropy;
    const at = instantFromMs(clock.nowMs());
    entropy.note({ comparison, gap, differing: namespacesOf(differing), problem, at });
    const waits = { behind: BEHIND_MS, repaired: REPAIRED_MS, unequal: UNEQUAL_MS };
    const waitMs =
      comparison === 'equal' || comparison === 'failed'
        ? intervalMs
        : Math.min(waits[comparison], intervalMs);
    this.comparedMs.set(peerId, clock.monotonicMs());
    this.dueMs.set(peerId, clock.monotonicMs() + (wasDiverged ? intervalMs : waitMs));
    onEvent?.({ kind: 'compared', peerId, comparison, repaired });
    if (repaired > 0) log.warn({ peer: peerId, repaired }, 'rows that were damaged or missing are repaired');
    // A standing problem or alarm is logged only once.
    if (before === null && entropy.problem !== null) {
      log.warn(
        { peer: peerId, failed: entropy.failed, reason: entropy.problem },
        'the rows cannot be compared with a peer, so differences are neither found nor repaired',
      );
    }
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

  /**
   * Asks the maker for the payloads of operations that another peer sent as headers, because they lie outside its scope.
   * Rows alone do not show that they are missing: a later write may have made them equal. Each header is asked for once.
   */
  private async takePayloads(record: PeerRecord): Promise<void> {
    const questions = new PeerQuestions(record.peer, this.parts);
    const { peerId, entropy } = record;
    const limit = limits.RANGE_OPERATIONS_MAX;
    const asked = { kind: 'read-headers', maker: peerId, after: entropy.headersAsked, limit } as const;
    const page = questions.take(await this.parts.store.query(asked, { lane: 'background' }));
    if (page === null) return;
    if (page.places.length > 0) {
      const back = await this.askBack(questions, page.places);
      if (back === null) return;
      const { operations } = back;
      const done =
        operations.length === 0 || (await this.repair(questions, { subjects: [], recount: [], operations }));
      if (done === null) return;
    }
    entropy.headersAsked = page.last ?? entropy.headersAsked;
  }

  private async compare(record: PeerRecord, questions: PeerQuestions): Promise<Compared> {
    const buckets = await compareBuckets(questions);
    if (buckets === null) return FAILED;
    const mayWait = record.entropy.behind < BEHIND_MAX;
    const common = { gap: buckets.gap, repaired: 0, differing: [] };
    if (buckets.differing.length === 0) return { ...common, comparison: 'equal' };
    if (!buckets.comparable && mayWait) return { ...common, comparison: 'behind' };
    const found = await compareNamespaces(questions, buckets);
    if (found === null) return FAILED;
    const { differing, gap, comparable } = found;
    if (differing.length === 0) return { comparison: 'equal', gap, repaired: 0, differing };
    if (!comparable && mayWait) return { comparison: 'behind', gap, repaired: 0, differing };
    // A forced comparison is not followed by another one at once.
    record.entropy.behind = 0;
    let repaired = 0;
    for (const of of differing.slice(0, limits.RANGE_NAMESPACES_MAX)) {
      const done = await this.repairNamespace(questions, of, comparable);
      if (done === null) return { comparison: 'failed', gap, repaired, differing };
      repaired += done;
    }
    if (repaired > 0) return { comparison: 'repaired', gap, repaired, differing };
    return { comparison: comparable ? 'unequal' : 'behind', gap, repaired, differing };
  }

  /** The number of repaired rows; null when the peer or the store did not answer. */
  private async repairNamespace(
    questions: PeerQuestions,
    of: KindNamespace,
    comparable: boolean,
  ): Promise<number | null> {
    // The digest of the namespace itself may be wrong. Recounting it makes the writer read every row.
    const counted = comparable
      ? await this.repair(questions, { subjects: [], recount: [of] })
      : NOTHING_COUNTED;
    if (counted === null) return null;
    const repaired = await this.repairRanges(questions, of);
    return repaired === null ? null : repaired + counted.recounted.length;
  }

  private async repairRanges(questions: PeerQuestions, of: KindNamespace): Promise<number | null> {
    const { store } = this.parts;
    let repaired = 0;
    for (let from: number | null = 0; from !== null; ) {
      const own = questions.take(await store.query({ kind: 'read-ranges', of }, { lane: 'background' }));
      if (own === null) return null;
      const question = { kind: 'subjects', of, ranges: own.ranges, from } as const;
      const theirs: Awaited<ReturnType<typeof this.askSubjects>> = await this.askSubjects(
        questions,
        question,
      );
      if (theirs === null) return null;
      const all = { ranges: theirs.ranges, limit: Number.MAX_SAFE_INTEGER } as const;
      const ours = questions.take(
        await store.query({ kind: 'read-range-subjects', of, ...all }, { lane: 'background' }),
      );
      if (ours === null) return null;
      const ids = differingSubjects(ours.subjects, theirs.subjects);
      const subjects = ids.map((id) => ({ kind: of.kind, id }));
      const done = await this.repairSubjects(questions, subjects);
      if (done === null) return null;
      repaired += done;
      // A peer whose cursor does not advance would keep this node in the loop for ever.
      from = theirs.next !== null && theirs.next > from ? theirs.next : null;
    }
    return repaired;
  }

  private askSubjects(questions: PeerQuestions, question: RangesQuestion) {
    return questions.ask(question, checkSubjectsReply);
  }

  /** The number of repaired rows; null when the peer or the store did not answer. */
  private async repairSubjects(
    questions: PeerQuestions,
    subjects: readonly Subject[],
  ): Promise<number | null> {
    let repaired = 0;
    for (let at = 0; at < subjects.length; at += limits.REPAIR_SUBJECTS_MAX) {
      const some = subjects.slice(at, at + limits.REPAIR_SUBJECTS_MAX);
      const own = await this.repair(questions, { subjects: some, recount: [] });
      if (own === null) return null;
      repaired += own.repaired.length;
      const missing = own.missing.slice(0, limits.RANGE_OPERATIONS_MAX);
      if (missing.length === 0) continue;
      const back = await this.askBack(questions, missing);
      if (back === null) return null;
      if (back.operations.length + back.withheld.length === 0) continue;
      const again = await this.repair(questions, {
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
  private async askBack(questions: PeerQuestions, missing: readonly OperationPlace[]) {
    const places = missing.map(({ origin, seq }) => ({ origin, seq }));
    const answer = await questions.ask({ kind: 'operations', places }, checkOperationsReply);
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
    questions: PeerQuestions,
    request: Pick<RepairRequest, 'subjects' | 'recount'> & Partial<RepairRequest>,
  ): Promise<RepairOutcome | null> {
    const { log, stopping } = this.parts;
    if (stopping()) return null;
    const nothing = { operations: [], withheld: [], dryRun: false };
    const done = await repairRows(this.parts, { ...nothing, ...request });
    if (!done.ok)
      log.warn({ code: done.error.code }, 'the rows that differ from a peer could not be repaired');
    return questions.take(done);
  }
}
