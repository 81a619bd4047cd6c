import { isAhead, isHlc } from '../base/hlc.js';
import { namespaceProblem } from '../base/ids.js';
import { isSameKey } from '../base/key-text.js';
import { CLOCK_AHEAD_MS_MAX, PEER_ORIGINS_MAX } from '../base/limits.js';
import type { Origin } from '../base/meanings.js';
import { includes } from '../base/version-vector.js';
import { defineCommand, operationsBytes } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { mayWrite } from '../decide/home.js';
import { changeRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { after, ownOrigin, type Reading, subjectRow, versionsOf } from '../decide/reads.js';
import { useEnvelope } from '../identity/mutations.js';
import { boundKeyOf } from '../identity/reads.js';
import type { Kind } from '../kinds/kind.js';
import { covers, type Version } from '../kinds/version.js';
import { EPOCH_KIND, type EpochNotice, epochNoticeOf } from '../log/epoch-notice.js';
import { operationId } from '../log/operation-log.js';
import {
  type Have,
  type ParkReason,
  peerOfOrigin,
  type RefusalReason,
  type SignedHead,
  type VerifiedOperation,
} from '../log/wire-operation.js';
import { erasureKind } from '../memory/erasure-kind.js';
import { dropArchived } from '../memory/mutations.js';
import { scopeOfAuthor } from '../policies/reads.js';
import type { ParkedOperation, RefusedOperation } from '../wire/bodies.js';
import { FINAL_REASONS } from './derive.js';
import {
  appendForeign,
  dropPayloads,
  recordConflict,
  setBranchAside,
  unpark,
  useNonce,
} from './mutations.js';
import { admits, purgeReasonOf, versionOf } from './payloads.js';
import {
  epochNotices,
  historyOf,
  nonceUsed,
  operationHash,
  originHead,
  originsOf,
  parkedOperations,
  parkedReason,
  renamedWhole,
  subjectsBeyond,
} from './reads.js';
import { repairRenamed } from './repair.js';
import { reachesOut } from './scope.js';
import { replayed } from './use-nonce.js';
import type { UsedNonce } from './used-nonce.js';
import { type HistoricEdit, isEmptiedBy, isFinal, joinVersions, loserOf, settle } from './versions.js';

/** Appends operations of other nodes to the log and applies them, each origin's in order. */
export interface ApplyOperations {
  readonly kind: 'apply-operations';
  /** The peer that sent the operations; another node may have made them. */
  readonly from: string;
  readonly operations: readonly VerifiedOperation[];
  /** Verified; each hash is the header hash of an operation above. */
  readonly heads: readonly SignedHead[];
  /** The nonce of the message; used in the same transaction. */
  readonly nonce: UsedNonce | null;
}

export interface ApplyOutcome {
  readonly applied: number;
  /** Operations that were here before, or changed nothing. */
  readonly noop: number;
  readonly refused: readonly RefusedOperation[];
  /** Operations of this command that are in the log without effect, now or from before. */
  readonly parked: readonly ParkedOperation[];
  /** The last sequence that this node now has of each named origin. */
  readonly have: Have;
}

/** Offers parked operations to the rules again, for example after an upgrade, in order of arrival. */
export interface RetryParked {
  readonly kind: 'retry-parked';
  /** Where to begin: the commit sequence before the first operation, and how many operations to skip after it. */
  readonly after: number;
  readonly skip: number;
  readonly limit: number;
}

/** `last`: the commit sequence of the last operation offered; null when there was nothing to offer. */
export interface RetryParkedOutcome {
  readonly applied: number;
  readonly last: number | null;
}

/**
 * Appends operations of other origins to the log, each origin's in order, and applies them (design: mesh). It counts an
 * operation that it already has. It refuses an operation that it cannot append now; the peer may offer it again. It
 * parks an operation that may have no effect, so the chain continues. The whole command fails only for a used nonce.
 */
function* decideApplyOperations(command: ApplyOperations, context: DecisionContext): Deciding<ApplyOutcome> {
  const { nonce } = command;
  const first: Mutation[] = [];
  if (nonce !== null) {
    const used = yield* nonceUsed(nonce);
    if (used) return replayed();
    first.push(useNonce({ nonce }));
  }
  yield* after(first);
  const self = yield* ownOrigin();
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
    if (!notices.has(origin)) notices.set(origin, yield* epochNotices({ origin }));
    const isRenamed = ({ keep, renamed }: EpochNotice) => seq === keep + 1 && operation.hash === renamed;
    const place = notices.get(origin)!.some(isRenamed)
      ? yield* refusedAsRenamed(origin)
      : yield* placeOf(operation, self, context);
    have[origin] = place.have;
    if (place.kind === 'known') {
      const reason = yield* parkedReason({ origin, seq });
      // A peer that offers it again must hear again that it has no effect.
      if (reason === null) noop += 1;
      else parked.push({ op_id: operationId(origin, seq), reason });
      continue;
    }
    if (place.kind === 'refused') {
      // Later operations build on it; the sender learns from `have` where to continue.
      blocked.add(origin);
      refused.push({ origin, seq, reason: place.reason });
      continue;
    }
    const effect = yield* effectOf(operation, context);
    const head = signatures.get(operationId(origin, seq));
    const append: Mutation = appendForeign({
      // An operation outside its maker's scope is kept header-only, and one of an erased subject too.
      operation:
        effect.parked === 'out_of_scope' || effect.empty ? { ...operation, payload: null } : operation,
      parked: effect.parked,
      headSignature: head?.hash === operation.hash ? head.signature : null,
    });
    yield* after([...effect.mutations, append, ...(yield* useOf(operation, context))]);
    have[origin] = seq;
    if (effect.parked !== null) parked.push({ op_id: operationId(origin, seq), reason: effect.parked });
    else if (effect.mutations.length === 0) noop += 1;
    else applied += 1;
  }
  return decided({ applied, noop, refused, parked, have: have as Have }, []);
}

/**
 * The envelope that an operation was accepted with, so that no node accepts it again, whatever became of the row. One that
 * is out of date needs no note, and one that another key than the agent's signed is not the agent's.
 */
function* useOf(
  { subject, envelope }: VerifiedOperation,
  { nowMs }: DecisionContext,
): Reading<readonly Mutation[]> {
  if (envelope === undefined || envelope.expiresAtMs < nowMs - CLOCK_AHEAD_MS_MAX) return [];
  const { agentId, publicKey, fingerprint, expiresAtMs } = envelope;
  const bound = yield* boundKeyOf({ agentId });
  if (bound !== null && !isSameKey(bound, publicKey)) return [];
  return [useEnvelope({ fingerprint, expiresAtMs, memoryId: String(subject) })];
}

type Place =
  | { readonly kind: 'next'; readonly have: number }
  | { readonly kind: 'known'; readonly have: number }
  | { readonly kind: 'refused'; readonly have: number; readonly reason: RefusalReason };

/** Compares an operation with what this node has of its origin. */
function* placeOf(
  operation: VerifiedOperation,
  self: { readonly origin: Origin; readonly seq: number },
  context: DecisionContext,
): Reading<Place> {
  const { origin, seq } = operation;
  const own = origin === self.origin;
  const known = own ? null : yield* originHead({ origin });
  const have = own ? self.seq : (known?.seq ?? 0);
  const refused = (reason: RefusalReason): Place => ({ kind: 'refused', have, reason });
  if (seq <= have) {
    // Another operation has this number: a database was restored from a copy and continued.
    const hash = yield* operationHash({ origin, seq });
    return hash === null || hash === operation.hash ? { kind: 'known', have } : refused('fork');
  }
  if (own) return refused('own_ahead');
  if (seq > have + 1) return refused('gap');
  if (known === null && (yield* originsOf({ peerId: peerOfOrigin(origin) })) >= PEER_ORIGINS_MAX)
    return refused('bad_chain');
  if (known !== null && operation.prevHash !== known.head) return refused('fork');
  if (!isHlc(operation.hlc)) return refused('bad_chain');
  if (isAhead(operation.hlc, context.nowMs)) return refused('clock_skew');
  return { kind: 'next', have };
}

/** Refuses a history under its old origin when it has another origin now. */
function* refusedAsRenamed(origin: Origin): Reading<Place> {
  const known = yield* originHead({ origin });
  return { kind: 'refused', have: known?.seq ?? 0, reason: 'fork' };
}

interface Effect {
  readonly parked: ParkReason | null;
  readonly mutations: readonly Mutation[];
  /** True for an operation of an erased subject, whose payload nobody keeps. */
  readonly empty?: true;
}

const parkedFor = (parked: ParkReason): Effect => ({ parked, mutations: [] });
const NO_EFFECT: Effect = { parked: null, mutations: [] };
const EMPTY: Effect = { parked: null, mutations: [], empty: true };

type Readable = VerifiedOperation & { readonly payload: string };

/** The effect of an operation here. Of an erased subject nothing can take effect later, so nothing is kept for it. */
function* effectOf(operation: VerifiedOperation, context: DecisionContext): Reading<Effect> {
  const effect = yield* judged(operation, context);
  const kind = effect.parked === null ? null : (context.kinds.ofWord(operation.kind)?.kind ?? null);
  if (kind === null) return effect;
  const state = yield* versionsOf({ kind: kind.name, id: operation.subject });
  if (!state.some((version) => isEmptiedBy(kind, version, operation))) return effect;
  return FINAL_REASONS.has(effect.parked!) ? { ...effect, empty: true } : EMPTY;
}

function* judged(operation: VerifiedOperation, context: DecisionContext): Reading<Effect> {
  const { payload, refusal } = operation;
  if (refusal !== null && refusal !== 'internal') return parkedFor(refusal);
  if (payload === null) return parkedFor('out_of_scope');
  const meaning = context.kinds.ofWord(operation.kind);
  // Check the scope before any reason to defer: it is not checked again later.
  const reaching = meaning !== null && (yield* reachesOut(operation, meaning.kind));
  if (reaching) return parkedFor('out_of_scope');
  if (refusal !== null) return parkedFor(refusal);
  if (operation.kind === EPOCH_KIND) return yield* epochEffect({ ...operation, payload }, context);
  if (meaning === null) return parkedFor('unknown_kind');
  if (namespaceProblem(operation.namespace) !== null) return parkedFor('invalid');
  if (meaning.role === 'purge') return yield* purgeEffect({ ...operation, payload }, meaning.kind);
  const version = versionOf(meaning.kind, meaning.role, { ...operation, payload });
  if (version === null || !admits(meaning.kind, version)) return parkedFor('invalid');
  return yield* subjectEffect(operation, meaning.kind, version);
}

function* subjectEffect(operation: VerifiedOperation, kind: Kind, incoming: Version): Reading<Effect> {
  const { subject: id, namespace } = operation;
  if (!(yield* mayWrite(kind, id, incoming))) return parkedFor('not_home');
  const subject = { kind: kind.name, id };
  const state = yield* versionsOf(subject);
  const ends = isFinal(kind, incoming);
  if (!ends && state.some((version) => isEmptiedBy(kind, version, operation))) return EMPTY;
  const mutations: Mutation[] = [];
  // A version that has seen all others cannot be in conflict.
  if (!state.every((version) => includes(incoming.covers, version.origin, version.seq))) {
    const history = yield* historyOf(subject);
    for (const other of history) {
      const lost = loserOf<HistoricEdit>(kind, operation, other);
      if (lost !== null) {
        mutations.push(recordConflict({ kind: kind.name, subject: id, namespace, ...lost }));
      }
    }
  }
  const known = ends ? state.filter((version) => isFinal(kind, version)) : state;
  if (known.some((version) => covers(version, incoming))) return { parked: null, mutations };
  const versions = joinVersions(kind, state, [incoming]);
  const before = state.length === 0 ? null : yield* subjectRow(subject);
  const settled = settle(kind, versions);
  mutations.push({
    mutation: 'settle',
    ...subject,
    before,
    settled,
    siblings: versions.length > 1 ? versions : [],
    known: state.length > 0,
    // Only the removal that wins, when it arrives: an older removal must not bring a purged copy back.
    archive: settled.removal?.was === incoming.removal?.was ? (incoming.removal?.was ?? null) : null,
  });
  if (operation.implied === true) mutations.push(changeRows(erasureKind, { memory_id: id }, { outside: 1 }));
  return { parked: null, mutations };
}

/**
 * A purge drops the archived copy that it has seen; it makes no version of the memory. Each node sets how long it keeps
 * archived copies, so a purge for age drops nothing here.
 */
function* purgeEffect(operation: Readable, kind: Kind): Reading<Effect> {
  const { subject: id, seen } = operation;
  const reason = purgeReasonOf(operation.payload);
  if (reason === null) return parkedFor('invalid');
  const versions = yield* versionsOf({ kind: kind.name, id });
  const gone = versions.every(({ origin, seq, image }) => image === null && includes(seen, origin, seq));
  return gone && reason === 'request' ? { parked: null, mutations: [dropArchived({ id })] } : NO_EFFECT;
}

/**
 * Handles a notice that an origin has two histories. When this node holds the renamed history under the old origin, it
 * moves that history aside and rebuilds its rows without it. Then the other history can arrive.
 */
function* epochEffect(operation: Readable, context: DecisionContext): Reading<Effect> {
  const notice = epochNoticeOf(operation);
  if (notice === null) return parkedFor('invalid');
  const { from, keep, renamed } = notice;
  const here = yield* operationHash({ origin: from, seq: keep + 1 });
  if (here !== renamed) return NO_EFFECT;
  // Move an operation aside only when it is also here under its other name.
  const whole = yield* renamedWhole({ from, keep, to: operation.origin });
  if (!whole) return parkedFor('invalid');
  const subjects = yield* subjectsBeyond({ origin: from, seq: keep });
  yield* after([setBranchAside({ origin: from, keep, to: operation.origin })]);
  yield* repairRenamed(subjects, context, 'by-notice');
  return NO_EFFECT;
}

/** Applies parked operations that can have an effect now. */
function* decideRetryParked(command: RetryParked, context: DecisionContext): Deciding<RetryParkedOutcome> {
  const operations = yield* parkedOperations(command);
  let applied = 0;
  for (const [, wire] of operations) {
    const noted = yield* scopeOfAuthor({ peerId: peerOfOrigin(wire.origin) });
    const scope = noted?.scope ?? null;
    const effect = yield* effectOf({ ...wire, hash: '', refusal: null, scope }, context);
    if (effect.parked !== null) continue;
    applied += 1;
    const { origin, seq } = wire;
    const emptied = effect.empty === true ? [dropPayloads({ places: [{ origin, seq }] })] : [];
    yield* after([...effect.mutations, ...emptied, unpark({ origin, seq })]);
  }
  return decided({ applied, last: operations.at(-1)?.[0] ?? null }, []);
}

export const applyOperationsCommand = defineCommand({
  kind: 'apply-operations',
  decide: decideApplyOperations,
  gate: 'peer',
  bytes: ({ operations }) => operationsBytes(operations),
});

export const retryParkedCommand = defineCommand({
  kind: 'retry-parked',
  decide: decideRetryParked,
  gate: 'upkeep',
});
