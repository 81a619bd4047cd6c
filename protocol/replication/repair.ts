import { canonicalJson } from '../base/canonical-json.js';
import { includes } from '../base/version-vector.js';
import { defineCommand, operationsBytes } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { after, ownOrigin, type Reading } from '../decide/reads.js';
import type { Kind, Subject } from '../kinds/kind.js';
import type { Settled, Version } from '../kinds/version.js';
import type { KindNamespace, OperationPlace } from '../log/ranges.js';
import type { VerifiedOperation } from '../log/wire-operation.js';
import { type Derived, deriveVersions, type LoggedOperation, sameDots } from './derive.js';
import {
  forgetConflicts,
  parkElsewhere,
  recordConflict,
  recountDigest,
  recountQuotas,
  restoreOperation,
  unpark,
} from './mutations.js';
import { versionOf } from './payloads.js';
import {
  digestHolds,
  historyOf,
  isLogged,
  loggedHash,
  logOf,
  operationHash,
  originHead,
  type StoredSubject,
  storedSubject,
} from './reads.js';
import {
  type MissingPayload,
  type RepairedRow,
  type RepairOutcome,
  type RepairSubjects,
  type RowProblem,
  repairOf,
} from './repair-subjects.js';
import { reachesOut } from './scope.js';
import { ELSEWHERE, type HistoricEdit, isEmptiedBy, loserOf, lossesAmong, settle } from './versions.js';

/** The key of a pair of names in a set or map. */
const keyOf = (...parts: readonly string[]): string => parts.join('\n');

class Sums {
  private readonly byKey = new Map<string, KindNamespace>();

  constructor(given: readonly KindNamespace[]) {
    for (const each of given) this.add(each.kind, each.namespace);
  }

  add(kind: string, namespace: string): void {
    this.byKey.set(keyOf(kind, namespace), { kind, namespace });
  }

  sorted(): readonly KindNamespace[] {
    return [...this.byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  }
}

/**
 * Makes the rows of subjects match the log, whatever they hold now (design: mesh, "Anti-entropy"). Idempotent: a
 * correct row is not written.
 */
function* decideRepairSubjects(command: RepairSubjects, context: DecisionContext): Deciding<RepairOutcome> {
  const repaired: RepairedRow[] = [];
  const missing: MissingPayload[] = [];
  const unreadable: MissingPayload[] = [];
  const sums = new Sums(command.recount);
  const charged = new Set(
    command.recountQuotas === true ? command.recount.map(({ namespace }) => namespace) : [],
  );
  const withheld = new Set(command.withheld);
  const back = yield* restore(command, context);
  const subjects = new Map(
    [...command.subjects, ...back.subjects.values()].map((each) => [keyOf(each.kind, each.id), each]),
  );
  let sound = 0;
  for (const [key, subject] of subjects) {
    const kind = context.kinds.named(subject.kind);
    // A later release wrote this kind; this release has no row of it.
    if (kind === null) continue;
    const stored = yield* storedSubject(subject);
    const log = yield* logOf(subject);
    const gap = yield* gapOf(log, stored);
    const removes = back.subjects.has(key) || takesEffect(command, kind, stored, log);
    const verdict =
      gap !== null
        ? { ...NOTHING, missing: [gap] }
        : verdictOf(kind, subject.id, stored, deriveVersions(kind, log, withheld), removes);
    const about = (place: OperationPlace): MissingPayload => {
      const logged = log.find(({ origin, seq }) => origin === place.origin && seq === place.seq);
      const namespace = logged?.namespace ?? stored.row?.namespace ?? '';
      return { ...place, kind: kind.name, subject: subject.id, namespace };
    };
    missing.push(...verdict.missing.map(about));
    unreadable.push(...verdict.unreadable.map(about));
    if (verdict.problem === null) {
      if (verdict.missing.length + verdict.unreadable.length === 0) sound += 1;
      continue;
    }
    for (const each of verdict.namespaces) {
      sums.add(kind.name, each);
      charged.add(each);
    }
    const namespace = verdict.namespaces.at(-1) ?? log.at(-1)?.namespace ?? '';
    repaired.push({ kind: kind.name, subject: subject.id, namespace, problem: verdict.problem });
    if (command.dryRun) continue;
    yield* after(verdict.mutations);
    // An operation that arrived while the row was missing was not compared for conflicts.
    const history = yield* historyOf(subject);
    yield* after(lossesAmong(kind, history).map((lost) => conflict(kind, subject.id, namespace, lost)));
  }
  const recounted = yield* recount(sums.sorted(), command.dryRun);
  // A damaged row may have been counted with any number of bytes.
  if (!command.dryRun) {
    yield* after([...charged].sort().map((namespace): Mutation => recountQuotas({ namespace })));
  }
  const { restored, refused } = back;
  const outcome: RepairOutcome = { repaired, missing, restored, refused, sound, recounted, unreadable };
  return decided(outcome, []);
}

/**
 * True when a removal takes effect now because operations got other names. By a notice of another node it may also have
 * lost its copy to a version that the old name hid; a copy that was purged does not come back.
 */
function takesEffect(
  { renamed }: RepairSubjects,
  kind: Kind,
  stored: StoredSubject,
  log: readonly LoggedOperation[],
): boolean {
  if (renamed === undefined) return false;
  return stored.exists || (renamed === 'by-notice' && !log.some((one) => kind.words[one.kind] === 'purge'));
}

function* recount(sums: readonly KindNamespace[], dryRun: boolean): Reading<readonly KindNamespace[]> {
  const recounted: KindNamespace[] = [];
  for (const sum of sums) {
    if (yield* digestHolds(sum)) continue;
    recounted.push(sum);
    if (!dryRun) yield* after([recountDigest({ ...sum })]);
  }
  return recounted;
}

/** Makes the rows of subjects, and the digests of their namespaces, match the log of this node. */
export function* repairSubjects(subjects: readonly Subject[], context: DecisionContext): Reading<void> {
  yield* decideRepairSubjects(repairOf({ subjects }), context);
}

/** Repairs the rows of subjects whose operations got other names or stamps, which may also lose to others now. */
export function* repairRenamed(
  subjects: readonly Subject[],
  context: DecisionContext,
  renamed: 'here' | 'by-notice',
): Reading<void> {
  yield* decideRepairSubjects(repairOf({ subjects, renamed }), context);
  for (const subject of subjects) {
    const kind = context.kinds.named(subject.kind);
    if (kind === null) continue;
    const history = yield* historyOf(subject);
    const namespace = (yield* logOf(subject)).at(-1)?.namespace ?? '';
    const losses = lossesAmong(kind, history).map((lost) => conflict(kind, subject.id, namespace, lost));
    yield* after([forgetConflicts({ ...subject }), ...losses]);
  }
}

function conflict(
  { name: kind }: Kind,
  subject: string,
  namespace: string,
  lost: { readonly loser: HistoricEdit; readonly winner: HistoricEdit },
): Mutation {
  return recordConflict({ kind, subject, namespace, ...lost });
}

interface Restored {
  /** The subjects by key. */
  readonly subjects: ReadonlyMap<string, Subject>;
  readonly restored: number;
  readonly refused: number;
}

/** Puts operations back into the log; answers their subjects. */
function* restore({ operations, dryRun }: RepairSubjects, { kinds }: DecisionContext): Reading<Restored> {
  const subjects = new Map<string, Subject>();
  let refused = 0;
  let restored = 0;
  // Each operation holds the hash of the one before it, so restore the last one first.
  for (const operation of operations.toSorted((a, b) => b.seq - a.seq)) {
    const { origin, seq, payload, refusal, subject: id } = operation;
    const kind = kinds.ofWord(operation.kind)?.kind ?? null;
    const known = yield* operationHash({ origin, seq });
    const fits = known !== null && known === operation.hash && refusal === null;
    const emptied = fits && kind !== null && (yield* isEmptied(operation, kind));
    const bare = payload === null || emptied;
    const idle = fits && bare && !(kind !== null && (yield* needsHeader(operation, kind)));
    const reaching = fits && !bare && kind !== null && (yield* reachesOut(operation, kind));
    if (!fits || idle || reaching) {
      refused += 1;
      continue;
    }
    restored += 1;
    if (kind !== null) subjects.set(keyOf(kind.name, id), { kind: kind.name, id });
    if (dryRun) continue;
    const conflicts = kind === null || emptied ? [] : yield* conflictsOf(operation, kind);
    yield* after([
      restoreOperation({ operation: bare ? { ...operation, payload: null } : operation }),
      ...conflicts,
    ]);
  }
  return { subjects, restored, refused };
}

/** True for an operation of an erased subject: its payload stays away, whoever has it. */
function* isEmptied(operation: VerifiedOperation, kind: Kind): Reading<boolean> {
  if (kind.final.includes(operation.kind)) return false;
  const log = yield* logOf({ kind: kind.name, id: operation.subject });
  return log.some(({ payload, parked, ...one }) => {
    if (payload === null || parked !== null || kind.words[one.kind] !== 'removal') return false;
    const version = versionOf(kind, 'removal', { ...one, payload });
    return version !== null && isEmptiedBy(kind, version, operation);
  });
}

/**
 * True when the log has a wrong header or no header here, and holds the payload of a later version. Then no node needs
 * this payload, and all nodes may have dropped it. Otherwise the sender may only be withholding the payload.
 */
function* needsHeader({ origin, seq, hash, subject: id }: VerifiedOperation, kind: Kind): Reading<boolean> {
  if ((yield* loggedHash({ origin, seq })) === hash) return false;
  const log = yield* logOf({ kind: kind.name, id });
  return log.some(
    (one) =>
      one.payload !== null &&
      one.parked === null &&
      (kind.final.includes(one.kind) ||
        (one.origin === origin ? one.seq > seq : includes(one.seen, origin, seq))),
  );
}

/** The operations that lose against an operation that had no payload before, or that it loses against. */
function* conflictsOf(operation: VerifiedOperation, kind: Kind): Reading<readonly Mutation[]> {
  const { subject: id, namespace } = operation;
  const history = yield* historyOf({ kind: kind.name, id });
  return history.flatMap((other): Mutation[] => {
    const lost = loserOf<HistoricEdit>(kind, operation, other);
    return lost === null ? [] : [conflict(kind, id, namespace, lost)];
  });
}

/**
 * The operation that made the row, when the log should have it and does not. Such a row is better evidence than the
 * log, so it stays until a peer gives the operation back.
 */
function* gapOf(log: readonly LoggedOperation[], { row }: StoredSubject): Reading<OperationPlace | null> {
  if (row === null) return null;
  const { origin, origin_seq: seq } = row.stamp;
  if (log.some((one) => one.origin === origin && one.seq === seq)) return null;
  // The log has it under the name of another subject.
  if (yield* isLogged({ origin, seq })) return null;
  const self = yield* ownOrigin();
  const end = origin === self.origin ? self.seq : ((yield* originHead({ origin }))?.seq ?? 0);
  return seq >= 1 && seq <= end ? { origin, seq } : null;
}

interface Verdict {
  /** Null when the row is correct, or its correct contents are unknown. */
  readonly problem: RowProblem | null;
  readonly mutations: readonly Mutation[];
  /** The namespaces whose digests the repair changes, the row's own last. */
  readonly namespaces: readonly string[];
  readonly missing: readonly OperationPlace[];
  readonly unreadable: readonly OperationPlace[];
}

const NOTHING: Verdict = { problem: null, mutations: [], namespaces: [], missing: [], unreadable: [] };

function verdictOf(
  kind: Kind,
  id: string,
  stored: StoredSubject,
  derived: Derived,
  removes: boolean,
): Verdict {
  const { versions, missing, unreadable, unparked, outOfScope } = derived;
  if (versions === null) return { ...NOTHING, missing, unreadable };
  const settled = versions.length === 0 ? null : settle(kind, versions);
  const siblings = versions.length > 1 ? versions : [];
  const problem = problemOf(kind, stored, settled, siblings);
  if (problem === null && unparked.length + outOfScope.length === 0) return { ...NOTHING, missing };
  const mutations: Mutation[] = [
    ...unparked.map((place): Mutation => unpark({ ...place })),
    ...outOfScope.map((place): Mutation => parkElsewhere({ ...place })),
    {
      ...{ mutation: 'rebuild', kind: kind.name, id, settled, siblings },
      archive: removes ? (settled?.removal?.was ?? null) : null,
    },
  ];
  const now = settled?.image == null ? null : settled.namespace;
  const namespaces = [stored.row?.namespace, stored.counted, now].filter((each) => each != null);
  return { problem: problem ?? 'damaged', mutations, namespaces, missing, unreadable };
}

/** What is wrong with the rows of a subject. */
function problemOf(
  kind: Kind,
  stored: StoredSubject,
  settled: Settled | null,
  siblings: readonly Version[],
): RowProblem | null {
  const { exists, tombstone } = stored;
  if (settled !== null && settled.image !== null) return rowProblem(kind, stored, settled, siblings);
  if (exists) return settled?.removal?.reason === ELSEWHERE ? 'elsewhere' : 'surplus';
  // A tombstone without an operation holds nothing that replicates.
  if (settled === null) return null;
  if (tombstone === null) return 'missing';
  const { hlc, origin, seq, covers: seen, namespace } = settled;
  const { word, reason, facts } = settled.removal!;
  const text = (said: typeof facts) => kind.removal.text(said);
  const stamp = { hlc, origin, seq, seen, namespace, word, reason };
  const { facts: said, ...held } = tombstone;
  const right =
    said !== null &&
    canonicalJson(stamp) === canonicalJson(held) &&
    text(facts) === text(said) &&
    sameDots(stored.siblings, siblings);
  return right ? null : 'damaged';
}

function rowProblem(
  kind: Kind,
  { exists, row, whole, tombstone, siblings: kept }: StoredSubject,
  settled: Settled & { readonly image: object },
  siblings: readonly Version[],
): RowProblem | null {
  if (!exists) return 'missing';
  if (row === null || !whole) return 'damaged';
  const { hlc, origin, seq: origin_seq, covers: seen, namespace } = settled;
  const right =
    kind.payload.text(row.image) === kind.payload.text(settled.image) &&
    row.namespace === namespace &&
    canonicalJson(row.stamp) === canonicalJson({ hlc, origin, origin_seq, seen }) &&
    tombstone === null &&
    sameDots(kept, siblings);
  return right ? null : 'damaged';
}

export const repairSubjectsCommand = defineCommand({
  kind: 'repair-subjects',
  decide: decideRepairSubjects,
  gate: 'upkeep',
  bytes: ({ operations }) => operationsBytes(operations),
});
