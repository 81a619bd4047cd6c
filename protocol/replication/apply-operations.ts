import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { mayWrite } from '../decide/home.js';
import type { Mutation } from '../decide/mutations.js';
import { after, type Reading, read } from '../decide/reads.js';
import { hlcMs, isHlc } from '../hlc.js';
import { namespaceProblem } from '../ids.js';
import type { Kind } from '../kinds/kind.js';
import { covers, type Version } from '../kinds/version.js';
import { CLOCK_AHEAD_MS_MAX } from '../limits.js';
import { EPOCH_KIND, type EpochNotice, epochNoticeOf } from '../mesh/epoch-notice.js';
import type {
  Have,
  ParkedOperation,
  ParkReason,
  RefusalReason,
  RefusedOperation,
  SignedHead,
  VerifiedOperation,
} from '../mesh/wire.js';
import { includes } from '../version-vector.js';
import { operationId } from './operation-log.js';
import { purgeReasonOf, versionOf } from './payloads.js';
import { repairSubjects } from './repair.js';
import { reachesOut } from './scope.js';
import { replayed } from './use-nonce.js';
import type { UsedNonce } from './used-nonce.js';
import { type HistoricEdit, joinVersions, loserOf, settle } from './versions.js';

/** Takes operations of other nodes into the log and lets them take effect, each origin's in order. */
export interface ApplyOperations {
  readonly kind: 'apply-operations';
  /** The peer that sent them, which need not have made them. */
  readonly from: string;
  readonly operations: readonly VerifiedOperation[];
  /** Verified; each one's hash is the header hash of an operation above. */
  readonly heads: readonly SignedHead[];
  /** The nonce of the message that brought them; used in the same transaction. */
  readonly nonce: UsedNonce | null;
}

export interface ApplyOutcome {
  readonly applied: number;
  /** Known before. */
  readonly noop: number;
  readonly refused: readonly RefusedOperation[];
  /** Of these operations, those that are in the log without effect, now or from before. */
  readonly parked: readonly ParkedOperation[];
  /** What this node has of the origins named, after it. */
  readonly have: Have;
}

/** Offers parked operations to the rules again, for example after an upgrade; in the order of their coming. */
export interface RetryParked {
  readonly kind: 'retry-parked';
  /** Commit sequence after which to begin, and how many to leave out there. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

/** `last`: the commit sequence of the last one that was offered; null when none was left. */
export interface RetryParkedOutcome {
  readonly applied: number;
  readonly last: number | null;
}

/**
 * Takes operations of other origins into the log, each origin's in order, and lets them take effect (design: mesh).
 * What came before is noted; what cannot be taken now is refused and may be offered again; what may not have an effect
 * is parked, so that the chain goes on. Fails as a whole only for a used nonce.
 */
export function* decideApplyOperations(
  command: ApplyOperations,
  context: DecisionContext,
): Deciding<ApplyOutcome> {
  const { nonce } = command;
  const first: Mutation[] = [];
  if (nonce !== null) {
    const used = yield* read('nonce-used', nonce);
    if (used) return replayed();
    first.push({ mutation: 'use-nonce', nonce });
  }
  yield* after(first);
  const self = yield* read('log-origin', {});
  const signatures = new Map(command.heads.map((head) => [operationId(head.origin, head.seq), head]));
  const parked: ParkedOperation[] = [];
  const refused: RefusedOperation[] = [];
  const have: Record<string, number> = {};
  const blocked = new Set<string>();
  const notices = new Map<string, readonly EpochNotice[]>();
  let applied = 0;
  let noop = 0;
  for (const operation of command.operations) {
    const { origin, seq } = operation;
    if (blocked.has(origin)) continue;
    if (!notices.has(origin)) notices.set(origin, yield* read('epoch-notices', { origin }));
    const isRenamed = ({ keep, renamed }: EpochNotice) => seq === keep + 1 && operation.hash === renamed;
    const place = notices.get(origin)!.some(isRenamed)
      ? yield* refusedAsRenamed(origin)
      : yield* placeOf(operation, self, context);
    have[origin] = place.have;
    if (place.kind === 'known') {
      const reason = yield* read('parked-reason', { origin, seq });
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
    const effect = yield* effectOf(operation, context);
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
  }
  return decided({ applied, noop, refused, parked, have: have as Have }, []);
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
): Reading<Place> {
  const { origin, seq } = operation;
  const own = origin === self.origin;
  const known = own ? null : yield* read('origin-head', { origin });
  const have = own ? self.seq : (known?.seq ?? 0);
  const refused = (reason: RefusalReason): Place => ({ kind: 'refused', have, reason });
  if (seq <= have) {
    // Another operation under a number that is taken: somebody's database was put back and went on.
    const hash = yield* read('operation-hash', { origin, seq });
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
function* refusedAsRenamed(origin: string): Reading<Place> {
  const known = yield* read('origin-head', { origin });
  return { kind: 'refused', have: known?.seq ?? 0, reason: 'fork' };
}

interface Effect {
  readonly parked: ParkReason | null;
  readonly mutations: readonly Mutation[];
}

const parkedFor = (parked: ParkReason): Effect => ({ parked, mutations: [] });
const without: Effect = { parked: null, mutations: [] };

type Readable = VerifiedOperation & { readonly payload: string };

/** The effect of an operation here. */
function* effectOf(operation: VerifiedOperation, context: DecisionContext): Reading<Effect> {
  const { payload, refusal } = operation;
  if (refusal !== null && refusal !== 'internal') return parkedFor(refusal);
  if (payload === null) return parkedFor('out_of_scope');
  const meaning = context.kinds.ofWord(operation.kind);
  // Before anything that is only put off: its scope is not asked again.
  const reaching = meaning !== null && (yield* reachesOut(operation, meaning.kind));
  if (reaching) return parkedFor('out_of_scope');
  if (refusal !== null) return parkedFor(refusal);
  if (operation.kind === EPOCH_KIND) return yield* epochEffect({ ...operation, payload }, context);
  if (meaning === null) return parkedFor('unknown_kind');
  if (namespaceProblem(operation.namespace) !== null) return parkedFor('invalid');
  if (meaning.role === 'purge') return yield* purgeEffect({ ...operation, payload }, meaning.kind);
  const version = versionOf(meaning.kind, meaning.role, { ...operation, payload });
  if (version === null) return parkedFor('invalid');
  return yield* subjectEffect(operation, meaning.kind, version);
}

function* subjectEffect(operation: VerifiedOperation, kind: Kind, incoming: Version): Reading<Effect> {
  const { subject: id, namespace } = operation;
  if (!(yield* mayWrite(kind, id, incoming))) return parkedFor('not_home');
  const subject = { kind: kind.name, id };
  const state = yield* read('subject-versions', subject);
  const mutations: Mutation[] = [];
  // A version that has seen all there is cannot be in conflict with anything.
  if (!state.every((version) => includes(incoming.covers, version.origin, version.seq))) {
    const history = yield* read('subject-history', subject);
    for (const other of history) {
      const lost = loserOf<HistoricEdit>(kind, operation, other);
      if (lost !== null) {
        mutations.push({ mutation: 'record-conflict', kind: kind.name, subject: id, namespace, ...lost });
      }
    }
  }
  if (state.some((version) => covers(version, incoming))) return { parked: null, mutations };
  const versions = joinVersions(state, [incoming]);
  const before = yield* read('subject-row', subject);
  const settled = settle(kind, versions);
  mutations.push({
    mutation: 'settle',
    ...subject,
    before,
    settled,
    siblings: versions.length > 1 ? versions : [],
    known: state.length > 0,
    // Only the removal that stands, when it comes: an older one must not bring a purged copy back.
    archive: settled.removal?.was === incoming.removal?.was ? (incoming.removal?.was ?? null) : null,
  });
  return { parked: null, mutations };
}

/**
 * A purge takes the archived copy that it has seen, and is no version of the memory. How long an archive is kept is each
 * node's setting, so a copy that only grew too old stays.
 */
function* purgeEffect(operation: Readable, kind: Kind): Reading<Effect> {
  const { subject: id, seen } = operation;
  const reason = purgeReasonOf(operation.payload);
  if (reason === null) return parkedFor('invalid');
  const versions = yield* read('subject-versions', { kind: kind.name, id });
  const gone = versions.every(({ origin, seq, image }) => image === null && includes(seen, origin, seq));
  return gone && reason === 'request'
    ? { parked: null, mutations: [{ mutation: 'drop-archived', id }] }
    : without;
}

/**
 * An origin has two histories, and here is the one that goes on under the origin of the notice, which came before it: it
 * is set aside, its rows become what the log means without it, and the other history can come.
 */
function* epochEffect(operation: Readable, context: DecisionContext): Reading<Effect> {
  const notice = epochNoticeOf(operation);
  if (notice === null) return parkedFor('invalid');
  const { from, keep, renamed } = notice;
  const here = yield* read('operation-hash', { origin: from, seq: keep + 1 });
  if (here !== renamed) return without;
  // Only what is here under its other name as well may lose this one.
  const whole = yield* read('renamed-whole', { from, keep, to: operation.origin });
  if (!whole) return parkedFor('invalid');
  const subjects = yield* read('subjects-beyond', { origin: from, seq: keep });
  yield* after([{ mutation: 'set-branch-aside', origin: from, keep, to: operation.origin }]);
  yield* repairSubjects(subjects, context);
  return without;
}

/** Lets parked operations that could have an effect now have it. */
export function* decideRetryParked(
  command: RetryParked,
  context: DecisionContext,
): Deciding<RetryParkedOutcome> {
  const operations = yield* read('parked-operations', command);
  let applied = 0;
  for (const [, wire] of operations) {
    const effect = yield* effectOf({ ...wire, hash: '', refusal: null, scope: null }, context);
    if (effect.parked !== null) continue;
    applied += 1;
    const { origin, seq } = wire;
    yield* after([...effect.mutations, { mutation: 'unpark', origin, seq }]);
  }
  return decided({ applied, last: operations.at(-1)?.[0] ?? null }, []);
}
