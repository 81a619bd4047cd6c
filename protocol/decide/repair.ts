import { canonicalJson } from '../canonical-json.js';
import type { Outcomes } from '../commands.js';
import { linkId, linkPayload } from '../link.js';
import type { OperationPlace } from '../mesh/ranges.js';
import {
  type MissingPayload,
  type RepairedRow,
  type RepairOutcome,
  type RepairSubjects,
  type RowProblem,
  repairOf,
} from '../mesh/repair-terms.js';
import type { VerifiedOperation } from '../mesh/store-terms.js';
import { memoryPayload } from '../operation-log.js';
import {
  type LoggedOperation,
  linkTold,
  sameDots,
  type Told,
  versionsTold,
  type WrittenLink,
} from '../repair.js';
import {
  ELSEWHERE,
  type HistoricEdit,
  loserOf,
  lossesAmong,
  memoryOf,
  type Settled,
  settle,
  type Version,
} from '../replica.js';
import { includes } from '../version-vector.js';
import {
  after,
  type Deciding,
  decided,
  type Mutation,
  type ReadRequest,
  type StoredSubject,
} from './decision.js';
import {
  digestHolds,
  isLogged,
  loggedHash,
  logOrigin,
  operationHash,
  originHead,
  storedSubject,
  subjectHistory,
  subjectLog,
} from './log-reads.js';
import { reachesOut } from './scope.js';

/**
 * Brings the rows of subjects to what the log means, whatever they say now (design: mesh, "Anti-entropy"). Idempotent:
 * what is right is not written.
 */
export function* decideRepairSubjects(command: RepairSubjects): Deciding<Outcomes['repair-subjects']> {
  const repaired: RepairedRow[] = [];
  const missing: MissingPayload[] = [];
  const namespaces = new Set(command.recount);
  const charged = new Set(command.recountQuotas === true ? command.recount : []);
  const withheld = new Set(command.withheld);
  const back = yield* restore(command);
  let sound = 0;
  for (const subject of new Set([...command.subjects, ...back.subjects])) {
    const stored = yield* storedSubject(subject);
    const log = yield* subjectLog(subject);
    const hole = yield* holeOf(log, stored);
    const verdict =
      hole !== null
        ? { problem: null, mutations: [], namespaces: [], wanted: [hole] }
        : isLink(log, stored)
          ? linkVerdict(stored, linkTold(log))
          : memoryVerdict(subject, stored, versionsTold(log, withheld), back.subjects.has(subject));
    for (const place of verdict.wanted) {
      const logged = log.find(({ origin, seq }) => origin === place.origin && seq === place.seq);
      const namespace = logged?.namespace ?? stored.memory?.namespace ?? '';
      missing.push({ ...place, subject, namespace });
    }
    if (verdict.problem === null) {
      if (verdict.wanted.length === 0) sound += 1;
      continue;
    }
    for (const each of verdict.namespaces) {
      namespaces.add(each);
      charged.add(each);
    }
    const namespace = verdict.namespaces.at(-1) ?? log.at(-1)?.namespace ?? '';
    repaired.push({ subject, namespace, problem: verdict.problem });
    if (command.dryRun) continue;
    yield* after(verdict.mutations);
    // Who came while there was no row met nobody to lose against.
    const history = yield* subjectHistory(subject);
    yield* after(
      lossesAmong(history).map((lost) => ({ mutation: 'record-conflict', subject, namespace, ...lost })),
    );
  }
  const recounted: string[] = [];
  for (const namespace of [...namespaces].sort()) {
    if (yield* digestHolds(namespace)) continue;
    recounted.push(namespace);
    if (!command.dryRun) yield* after([{ mutation: 'recount-digest', namespace }]);
  }
  // What a damaged row was counted with is not known.
  if (!command.dryRun) {
    yield* after(
      [...charged].sort().map((namespace): Mutation => ({ mutation: 'recount-quotas', namespace })),
    );
  }
  const { restored, refused } = back;
  const outcome: RepairOutcome = {
    repaired,
    missing,
    restored,
    refused,
    sound,
    recounted,
  };
  return decided(outcome, []);
}

/** Brings subjects to what the log of this node means, and their namespaces with them. */
export function* repairSubjects(subjects: readonly string[]): Generator<ReadRequest, void, never> {
  yield* decideRepairSubjects(repairOf({ subjects }));
}

/** Takes operations back into the log; answers whose they are. */
function* restore({
  operations,
  dryRun,
}: RepairSubjects): Generator<
  ReadRequest,
  { readonly subjects: ReadonlySet<string>; readonly restored: number; readonly refused: number },
  never
> {
  const subjects = new Set<string>();
  let refused = 0;
  let restored = 0;
  // The chain says what an operation must be by the one that follows it, so the last comes first.
  for (const operation of operations.toSorted((a, b) => b.seq - a.seq)) {
    const { origin, seq, payload, refusal, subject } = operation;
    const known = yield* operationHash(origin, seq);
    const fits = known !== null && known === operation.hash && refusal === null;
    const idle = fits && payload === null && !(yield* wantsHeader(operation));
    const reaching = fits && (yield* reachesOut(operation));
    if (!fits || idle || reaching) {
      refused += 1;
      continue;
    }
    restored += 1;
    subjects.add(subject);
    if (dryRun) continue;
    yield* after([{ mutation: 'restore-operation', operation }, ...(yield* conflictsOf(operation))]);
  }
  return { subjects, restored, refused };
}

/**
 * True where the log has a wrong header or none, and knows a later version by its payload: then nobody needs this one's, and
 * all may have let it go. Of others nobody knows whether that is so or the payload is only kept back.
 */
function* wantsHeader({
  origin,
  seq,
  hash,
  subject,
}: VerifiedOperation): Generator<ReadRequest, boolean, never> {
  if ((yield* loggedHash(origin, seq)) === hash) return false;
  const log = yield* subjectLog(subject);
  return log.some(
    (one) =>
      one.payload !== null &&
      one.parked === null &&
      (one.origin === origin ? one.seq > seq : includes(one.seen, origin, seq)),
  );
}

/** Whoever lost against an operation that had no payload before. */
function* conflictsOf(operation: VerifiedOperation): Generator<ReadRequest, readonly Mutation[], never> {
  const { subject, namespace } = operation;
  const history = yield* subjectHistory(subject);
  return history.flatMap((other): Mutation[] => {
    const lost = loserOf<HistoricEdit>(operation, other);
    return lost === null ? [] : [{ mutation: 'record-conflict', subject, namespace, ...lost }];
  });
}

/**
 * The operation that made the row, where the log should have it and does not: then the row knows better than the log, and
 * is left alone until somebody gives the operation back.
 */
function* holeOf(
  log: readonly LoggedOperation[],
  { memory }: StoredSubject,
): Generator<ReadRequest, OperationPlace | null, never> {
  if (memory === null) return null;
  const { origin, origin_seq: seq } = memory;
  if (log.some((one) => one.origin === origin && one.seq === seq)) return null;
  // Under the name of another subject it is there.
  if (yield* isLogged(origin, seq)) return null;
  const self = yield* logOrigin();
  const end = origin === self.origin ? self.seq : ((yield* originHead(origin))?.seq ?? 0);
  return seq >= 1 && seq <= end ? { origin, seq } : null;
}

const isLink = (log: readonly LoggedOperation[], stored: StoredSubject): boolean =>
  stored.link !== null || log.some(({ kind }) => kind === 'link');

interface Verdict {
  /** Null for a row that is right, or of which nothing can be said. */
  readonly problem: RowProblem | null;
  readonly mutations: readonly Mutation[];
  /** Whose digests the repair changes, the row's own last. */
  readonly namespaces: readonly string[];
  readonly wanted: Told<unknown>['wanted'];
}

function memoryVerdict(
  id: string,
  stored: StoredSubject,
  told: Told<readonly Version[]>,
  isBack: boolean,
): Verdict {
  const { wanted, unparked, away } = told;
  if (told.state === null) return { problem: null, mutations: [], namespaces: [], wanted };
  const settled = told.state.length === 0 ? null : settle(told.state);
  const siblings = told.state.length > 1 ? told.state : [];
  const problem = problemOf(stored, settled, siblings);
  if (problem === null && unparked.length + away.length === 0)
    return { problem, mutations: [], namespaces: [], wanted };
  const mutations: Mutation[] = [
    ...unparked.map((place): Mutation => ({ mutation: 'unpark', ...place })),
    ...away.map((place): Mutation => ({ mutation: 'park-elsewhere', ...place })),
    {
      mutation: 'rebuild-memory',
      id,
      settled,
      siblings,
      archive: isBack ? (settled?.removal?.image ?? null) : null,
    },
  ];
  const now = settled?.image?.namespace;
  const namespaces = [stored.memory?.namespace, stored.namespace, now].filter((each) => each != null);
  return { problem: problem ?? 'damaged', mutations, namespaces, wanted };
}

/** What is wrong with the rows of a memory. */
function problemOf(
  stored: StoredSubject,
  settled: Settled | null,
  siblings: readonly Version[],
): RowProblem | null {
  const { memory, exists, tombstone } = stored;
  if (settled === null || settled.image === null) {
    if (exists) return settled?.removal?.reason === ELSEWHERE ? 'elsewhere' : 'surplus';
    // A tombstone beside no operation says nothing that is replicated.
    if (settled === null) return null;
    if (tombstone === null) return 'missing';
    const { hlc, origin, seq, covers: seen } = settled;
    const { image: _copy, ...removal } = settled.removal;
    const right =
      canonicalJson({ hlc, origin, seq, seen, ...removal }) === canonicalJson({ ...tombstone }) &&
      sameDots(stored.siblings, siblings);
    return right ? null : 'damaged';
  }
  if (!exists) return 'missing';
  if (memory === null || !stored.whole) return 'damaged';
  const expected = memoryOf(settled, memory);
  const { hlc, origin, origin_seq, seen } = expected;
  const right =
    memoryPayload(memory) === memoryPayload(expected) &&
    canonicalJson([memory.hlc, memory.origin, memory.origin_seq, memory.seen]) ===
      canonicalJson([hlc, origin, origin_seq, seen]) &&
    tombstone === null &&
    sameDots(stored.siblings, siblings);
  return right ? null : 'damaged';
}

function linkVerdict(stored: StoredSubject, told: Told<readonly WrittenLink[]>): Verdict {
  const { wanted, unparked } = told;
  if (told.state === null) return { problem: null, mutations: [], namespaces: [], wanted };
  const written = told.state[0];
  const there = stored.link;
  const before = there === null ? [] : [there.namespace];
  if (written === undefined) {
    if (there === null) return { problem: null, mutations: [], namespaces: [], wanted };
    return {
      problem: 'surplus',
      mutations: [{ mutation: 'drop-link', link: there.link }],
      namespaces: before,
      wanted,
    };
  }
  const { link, by } = written;
  const right =
    there !== null &&
    stored.whole &&
    linkId(there.link) === linkId(link) &&
    linkPayload(there.link) === linkPayload(link) &&
    there.namespace === by.namespace &&
    sameDots([there.stamp], [by]);
  if (right && unparked.length === 0) return { problem: null, mutations: [], namespaces: [], wanted };
  return {
    problem: there === null ? 'missing' : 'damaged',
    mutations: [
      ...unparked.map((place): Mutation => ({ mutation: 'unpark', ...place })),
      { mutation: 'settle-link', link, operation: by },
    ],
    namespaces: [...before, by.namespace],
    wanted,
  };
}
