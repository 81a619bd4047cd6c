import type { Outcomes } from '../commands.js';
import { hlcMs, isHlc } from '../hlc.js';
import { CLOCK_AHEAD_MS_MAX } from '../limits.js';
import { EPOCH_KIND, type EpochNotice, epochNoticeOf } from '../mesh/epoch-notice.js';
import type {
  ApplyOperations,
  BeginEpoch,
  RetryParked,
  UseNonce,
  VerifiedOperation,
} from '../mesh/store-terms.js';
import type { Have, ParkedOperation, ParkReason, RefusalReason, RefusedOperation } from '../mesh/wire.js';
import { operationId } from '../operation-log.js';
import { concernsMemory, linkOf, purgeReasonOf, versionOf } from '../parse-payload.js';
import { type HistoricEdit, isLater, joinVersions, loserOf, settle, type Version } from '../replica.js';
import { fail } from '../result.js';
import { includes, type VersionVector } from '../version-vector.js';
import {
  after,
  type Deciding,
  type DecisionContext,
  decided,
  type Mutation,
  memoryById,
  type ReadRequest,
} from './decision.js';
import {
  epochNotices,
  isRenamedWhole,
  linkStamp,
  logOrigin,
  nonceUsed,
  operationHash,
  originHead,
  parkedOperations,
  parkedReason,
  subjectHistory,
  subjectsBeyond,
  subjectVersions,
} from './log-reads.js';
import { repairSubjects } from './repair.js';
import { reachesOut } from './scope.js';

/**
 * Takes operations of other origins into the log, each origin's in order, and lets them take effect (design: mesh).
 * What came before is noted; what cannot be taken now is refused and may be offered again; what may not have an effect
 * is parked, so that the chain goes on. Fails as a whole only for a used nonce.
 */
export function* decideApplyOperations(
  command: ApplyOperations,
  context: DecisionContext,
): Deciding<Outcomes['apply-operations']> {
  const { nonce } = command;
  const first: Mutation[] = [];
  if (nonce !== null) {
    const used = yield* nonceUsed(nonce);
    if (used) return replayed();
    first.push({ mutation: 'use-nonce', nonce });
  }
  yield* after(first);
  const self = yield* logOrigin();
  const signatures = new Map(command.heads.map((head) => [operationId(head.origin, head.seq), head]));
  const parked: ParkedOperation[] = [];
  const refused: RefusedOperation[] = [];
  const changed: string[] = [];
  const have: Record<string, number> = {};
  const blocked = new Set<string>();
  const notices = new Map<string, readonly EpochNotice[]>();
  let applied = 0;
  let noop = 0;
  for (const operation of command.operations) {
    const { origin, seq } = operation;
    if (blocked.has(origin)) continue;
    if (!notices.has(origin)) notices.set(origin, yield* epochNotices(origin));
    const isRenamed = ({ keep, renamed }: EpochNotice) => seq === keep + 1 && operation.hash === renamed;
    const place = notices.get(origin)!.some(isRenamed)
      ? yield* refusedAsRenamed(origin)
      : yield* placeOf(operation, self, context);
    have[origin] = place.have;
    if (place.kind === 'known') {
      const reason = yield* parkedReason(origin, seq);
      // Whoever offers it again must hear again that it has no effect.
      if (reason === null) noop += 1;
      else parked.push({ op_id: operationId(origin, seq), reason });
      continue;
    }
    if (place.kind === 'refused') {
      // What follows builds on it; the sender learns from `have` where to go on.
      blocked.add(origin);
      refused.push({ origin, seq, reason: place.reason });
      continue;
    }
    const effect = yield* effectOf(operation);
    const head = signatures.get(operationId(origin, seq));
    const append: Mutation = {
      mutation: 'append-foreign',
      // What has no effect for its scope is kept as a stub.
      operation: effect.parked === 'out_of_scope' ? { ...operation, payload: null } : operation,
      parked: effect.parked,
      headSignature: head?.hash === operation.hash ? head.signature : null,
    };
    yield* after([...effect.mutations, append]);
    have[origin] = seq;
    if (effect.parked !== null) parked.push({ op_id: operationId(origin, seq), reason: effect.parked });
    else if (effect.mutations.length === 0) noop += 1;
    else applied += 1;
    if (effect.changed) changed.push(operation.subject);
  }
  return decided({ applied, noop, changed, refused, parked, have: have as Have }, []);
}

type Place =
  | { readonly kind: 'next'; readonly have: number }
  | { readonly kind: 'known'; readonly have: number }
  | { readonly kind: 'refused'; readonly have: number; readonly reason: RefusalReason };

/** Where an operation stands against what is here of its origin. */
function* placeOf(
  operation: VerifiedOperation,
  self: { readonly origin: string; readonly seq: number },
  context: DecisionContext,
): Generator<ReadRequest, Place, never> {
  const { origin, seq } = operation;
  const own = origin === self.origin;
  const known = own ? null : yield* originHead(origin);
  const have = own ? self.seq : (known?.seq ?? 0);
  const refused = (reason: RefusalReason): Place => ({ kind: 'refused', have, reason });
  if (seq <= have) {
    // Another operation under a number that is taken: somebody's database was put back and went on.
    const hash = yield* operationHash(origin, seq);
    return hash === null || hash === operation.hash ? { kind: 'known', have } : refused('fork');
  }
  if (own) return refused('own_ahead');
  if (seq > have + 1) return refused('gap');
  if (known !== null && operation.prevHash !== known.head) return refused('fork');
  if (!isHlc(operation.hlc)) return refused('bad_chain');
  if (hlcMs(operation.hlc) > context.nowMs + CLOCK_AHEAD_MS_MAX) return refused('clock_skew');
  return { kind: 'next', have };
}

/** A history that has another origin now is not taken under its old one. */
function* refusedAsRenamed(origin: string): Generator<ReadRequest, Place, never> {
  const known = yield* originHead(origin);
  return { kind: 'refused', have: known?.seq ?? 0, reason: 'fork' };
}

interface Effect {
  readonly parked: ParkReason | null;
  readonly mutations: readonly Mutation[];
  /** True when the text of a memory is another now. */
  readonly changed: boolean;
}

const parkedFor = (parked: ParkReason): Effect => ({ parked, mutations: [], changed: false });

/** What an operation does here. */
function* effectOf(operation: VerifiedOperation): Generator<ReadRequest, Effect, never> {
  const { payload, kind, refusal } = operation;
  if (refusal !== null && refusal !== 'internal') return parkedFor(refusal);
  if (payload === null) return parkedFor('out_of_scope');
  // Before anything that is only put off: its scope is not asked again.
  const reaching = yield* reachesOut(operation);
  if (reaching) return parkedFor('out_of_scope');
  if (refusal !== null) return parkedFor(refusal);
  if (kind === 'link') return yield* linkEffect({ ...operation, payload });
  if (kind === 'purge') return yield* purgeEffect({ ...operation, payload });
  if (kind === EPOCH_KIND) return yield* epochEffect({ ...operation, payload });
  if (!concernsMemory(kind)) return parkedFor('unknown_kind');
  const version = versionOf({ ...operation, payload });
  if (version === null) return parkedFor('invalid');
  return yield* memoryEffect(operation, version);
}

function* memoryEffect(
  operation: VerifiedOperation,
  incoming: Version,
): Generator<ReadRequest, Effect, never> {
  const { subject, namespace } = operation;
  const state = yield* subjectVersions(subject);
  const mutations: Mutation[] = [];
  // A version that has seen all there is cannot be in conflict with anything.
  if (!state.every((version) => includes(incoming.covers, version.origin, version.seq))) {
    const history = yield* subjectHistory(subject);
    for (const other of history) {
      const lost = loserOf<HistoricEdit>(operation, other);
      if (lost !== null) mutations.push({ mutation: 'record-conflict', subject, namespace, ...lost });
    }
  }
  const seen: VersionVector[] = state.map((version) => version.covers);
  if (seen.some((covers) => includes(covers, incoming.origin, incoming.seq))) {
    return { parked: null, mutations, changed: false };
  }
  const versions = joinVersions(state, [incoming]);
  const before = yield* memoryById(subject);
  const settled = settle(versions);
  mutations.push({
    mutation: 'settle-memory',
    id: subject,
    before,
    settled,
    siblings: versions.length > 1 ? versions : [],
    known: state.length > 0,
    // Only the removal that stands, when it comes: an older one must not bring a purged copy back.
    archive: settled.removal?.image === incoming.removal?.image ? (incoming.removal?.image ?? null) : null,
  });
  const changed =
    settled.image !== null &&
    (before === null || before.title !== settled.image.title || before.content !== settled.image.content);
  return { parked: null, mutations, changed };
}

/**
 * A purge takes the archived copy that it has seen, and is no version of the memory. How long an archive is kept is each
 * node's setting, so what only grew too old stays.
 */
function* purgeEffect(
  operation: VerifiedOperation & { readonly payload: string },
): Generator<ReadRequest, Effect, never> {
  const { subject: id, seen } = operation;
  const reason = purgeReasonOf(operation.payload);
  if (reason === null) return parkedFor('invalid');
  const versions = yield* subjectVersions(id);
  const gone = versions.every(({ origin, seq, image }) => image === null && includes(seen, origin, seq));
  const mutations: Mutation[] = gone && reason === 'request' ? [{ mutation: 'drop-archived', id }] : [];
  return { parked: null, mutations, changed: false };
}

/**
 * An origin has two histories, and here is the one that goes on under the origin of the notice, which came before it: it
 * is set aside, its rows become what the log means without it, and the other history can come.
 */
function* epochEffect(
  operation: VerifiedOperation & { readonly payload: string },
): Generator<ReadRequest, Effect, never> {
  const notice = epochNoticeOf(operation);
  if (notice === null) return parkedFor('invalid');
  const { from, keep, renamed } = notice;
  const here = yield* operationHash(from, keep + 1);
  if (here !== renamed) return { parked: null, mutations: [], changed: false };
  // Only what is here under its other name as well may lose this one.
  const whole = yield* isRenamedWhole(from, keep, operation.origin);
  if (!whole) return parkedFor('invalid');
  const subjects = yield* subjectsBeyond(from, keep);
  yield* after([{ mutation: 'set-branch-aside', origin: from, keep, to: operation.origin }]);
  yield* repairSubjects(subjects);
  return { parked: null, mutations: [], changed: true };
}

/** Of two links between the same memories with the same relation the later stands. */
function* linkEffect(
  operation: VerifiedOperation & { readonly payload: string },
): Generator<ReadRequest, Effect, never> {
  const link = linkOf(operation.payload);
  if (link === null || operation.subject !== `${link.source_id}|${link.target_id}|${link.relation}`) {
    return parkedFor('invalid');
  }
  const known = yield* linkStamp(link);
  if (known !== null && !isLater(operation, known)) return { parked: null, mutations: [], changed: false };
  return { parked: null, mutations: [{ mutation: 'settle-link', link, operation }], changed: false };
}

/** Lets parked operations that could have an effect now have it. */
export function* decideRetryParked(command: RetryParked): Deciding<Outcomes['retry-parked']> {
  const operations = yield* parkedOperations(command);
  let applied = 0;
  for (const [, wire] of operations) {
    const effect = yield* effectOf({ ...wire, hash: '', refusal: null, scope: null });
    if (effect.parked !== null) continue;
    applied += 1;
    const { origin, seq } = wire;
    yield* after([...effect.mutations, { mutation: 'unpark', origin, seq }]);
  }
  return decided({ applied, last: operations.at(-1)?.[0] ?? null }, []);
}

/** Remembers a nonce for good. */
export function* decideUseNonce({ nonce }: UseNonce): Deciding<Outcomes['use-nonce']> {
  const used = yield* nonceUsed(nonce);
  return used ? replayed() : decided({}, [{ mutation: 'use-nonce', nonce }]);
}

const replayed = () => fail('x_memory_nonce_replay', 'this nonce was used before');

/** Goes on under another epoch, after which the old origin's operations come back from peers like anybody's. */
export function* decideBeginEpoch(command: BeginEpoch): Deciding<Outcomes['begin-epoch']> {
  const { epoch, reason } = command;
  const self = yield* logOrigin();
  const keep = command.keep ?? self.seq;
  if (keep > self.seq) return fail('CONFLICT', 'the log ends before the operation that is to be the last');
  const renamed = keep < self.seq ? yield* operationHash(self.origin, keep + 1) : null;
  const notice = renamed === null ? null : { from: self.origin, keep, renamed };
  const subjects = yield* subjectsBeyond(self.origin, keep);
  yield* after([{ mutation: 'begin-epoch', epoch, reason, keep, notice }]);
  yield* repairSubjects(subjects);
  const { origin } = yield* logOrigin();
  return decided({ origin }, []);
}
