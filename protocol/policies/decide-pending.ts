import { APPROVALS_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { type Failure, fail, failed, failure, type Result } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { isAgent, isId, passed } from '../decide/command-shape.js';
import {
  type Approved,
  type Deciding,
  type Decision,
  type DecisionContext,
  decided,
} from '../decide/deciding.js';
import { homeOf, notHome, numbered } from '../decide/home.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import { ownOrigin, type Reading, recordsWith } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { writtenProblem } from '../identity/ensure-quota.js';
import { quotaHolder } from '../identity/quota.js';
import { homeId, makerOf } from '../kinds/home.js';
import { NO_REST, oneOf } from '../kinds/payload.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import type { Approver } from '../namespaces/effective-policy.js';
import { isRegistered } from '../namespaces/gate-policy.js';
import { type PendingAction, type PendingState, pendingKind } from './pending-kind.js';
import { type Remembered, rememberedId, rememberedKind } from './remembered-kind.js';
import { REMEMBER, type Remember, type Vote, voteKind } from './vote-kind.js';

/** An agent approves or denies a pending action. The home of the action counts the vote and decides. */
export interface VotePending {
  readonly kind: 'vote-pending';
  readonly pendingId: string;
  readonly agentId: AgentId;
  readonly decision: 'approve' | 'deny';
  readonly remember: Remember;
  /** True to record the vote only, because the home cannot be reached; it counts it when it hears of it. */
  readonly recordOnly?: true;
}

/** Counts the votes on a pending action that came from other nodes, and ends an action that waited too long. */
export interface SettlePending {
  readonly kind: 'settle-pending';
  readonly pendingId: string;
}

/** What `vote-pending` and `settle-pending` answer. */
export interface PendingOutcome {
  readonly pending: PendingAction;
  /** Votes for it that count, and how many it needs. */
  readonly votes: number;
  readonly needed: number;
  /** What the command of the action answered, where this decision executed it; for the node that executes it. */
  readonly executed?: object;
}

/**
 * Records a vote and, on the home, decides the action when the votes suffice: it executes in the same transaction, so it
 * executes once. PENDING_ACTION_NOT_FOUND; PENDING_ACTION_STATE_INVALID for a decided action; GOVERNANCE_REFUSED for a
 * voter who may not decide; NOT_HOME on another node; the failure of the action itself, which changes nothing.
 */
function* decideVotePending(command: VotePending, context: DecisionContext): Deciding<PendingOutcome> {
  const row = yield* pendingRow(command.pendingId);
  if (row === null) return notFound();
  const pending = row.image;
  const late = stateProblem(pending, context);
  if (late !== null) return failed(late);
  const refused = yield* voterProblem(pending, command.agentId);
  if (refused !== null) return failed(refused);
  const home = yield* otherHome(row.id);
  if (home !== null && command.recordOnly !== true) return failed(home);
  const vote: Vote = {
    rest: NO_REST,
    pending_id: pending.pending_id,
    namespace: pending.namespace,
    agent_id: command.agentId,
    voter: command.agentId.toLowerCase(),
    decision: command.decision,
    remember: command.remember,
    voted_at: context.now,
  };
  const cast = [...(yield* votesOn(pending)).filter(({ voter }) => voter !== vote.voter), vote];
  const subject = { id: `${vote.pending_id}|${vote.voter}`, namespace: vote.namespace };
  const written = yield* putRecord(voteKind, subject, vote);
  const outcome =
    home !== null
      ? decided(tally(pending, cast), [written])
      : merged(yield* settled(row, cast, context), [written]);
  return yield* chargedVote(outcome, command.agentId, context);
}

/** A vote that does not decide can be cast again and again, so its voter is charged for it. */
function* chargedVote(
  outcome: Result<Decision<PendingOutcome>>,
  agentId: AgentId,
  context: DecisionContext,
): Deciding<PendingOutcome> {
  if (!outcome.ok || outcome.value.value.pending.status !== 'pending') return outcome;
  const chargedTo = quotaHolder(agentId);
  const problem = yield* writtenProblem(chargedTo, context);
  return problem === null ? { ok: true, value: { ...outcome.value, chargedTo } } : failed(problem);
}

/** Does nothing for an action that is decided, or that votes do not decide yet. NOT_HOME on another node. */
function* decideSettlePending(
  { pendingId }: SettlePending,
  context: DecisionContext,
): Deciding<PendingOutcome> {
  const row = yield* pendingRow(pendingId);
  if (row === null) return notFound();
  const home = yield* otherHome(row.id);
  if (home !== null) return failed(home);
  const votes = yield* votesOn(row.image);
  if (row.image.status !== 'pending') return decided(tally(row.image, votes), []);
  const isLate = row.image.expires_at <= context.now;
  if (!isLate) return yield* settled(row, votes, context);
  const image = yield* numbered(row.id, {
    ...row.image,
    status: 'expired' as const,
    decided_at: context.now,
  });
  return decided(tally(image, votes), [yield* putRecord(pendingKind, row, image)]);
}

/** Decides an action when its votes suffice; the command of an approved one is decided with it. */
function* settled(
  row: Row<PendingAction>,
  votes: readonly Vote[],
  context: DecisionContext,
): Deciding<PendingOutcome> {
  const { image: pending } = row;
  const valid: Vote[] = [];
  for (const vote of votes) if ((yield* voterProblem(pending, vote.agent_id)) === null) valid.push(vote);
  const denied = valid.find(({ decision }) => decision === 'deny');
  const denial = denied === undefined ? undefined : deniedOnce(pending, denied);
  const approvals = valid.filter(({ decision }) => decision === 'approve').slice(0, APPROVALS_MAX);
  const isApproved = denial === undefined && approvals.length >= neededBy(pending);
  const deciding = denial ?? (isApproved ? lastOf(approvals) : undefined);
  const image = yield* numbered(row.id, {
    ...pending,
    status: stateOf(denial, isApproved),
    approvals: approvals.map(({ agent_id, voted_at }) => ({ agent_id, approved_at: voted_at })),
    decided_by: deciding?.agent_id ?? null,
    decided_at: deciding === undefined ? null : context.now,
    remember: deciding?.remember ?? null,
  });
  const isNew = pendingKind.payload.text(image) !== pendingKind.payload.text(pending);
  const mutations: Mutation[] = isNew ? [yield* putRecord(pendingKind, row, image)] : [];
  if (deciding !== undefined)
    mutations.push(...(yield* memoryOf(image, deciding, context)), recordOf(image, deciding));
  const outcome = decided(tally(image, valid), mutations);
  if (!isApproved || !outcome.ok) return outcome;
  return { ok: true, value: { ...outcome.value, executes: yield* approvedOf(row) } };
}

/** What the chain executes of an approved action. */
function* approvedOf({ id, image }: Row<PendingAction>): Reading<Approved> {
  const { command, pending_id: pendingId, requested_by, written_as: writtenAs, approver, reads } = image;
  const writtenBy = makerOf(id);
  const isOwn = writtenBy === peerOfOrigin((yield* ownOrigin()).origin);
  const requester = { requestedBy: requested_by ?? '', writtenAs, isOwn };
  return { command, pendingId, writtenBy, requester, approver, reads };
}

const stateOf = (denial: Vote | undefined, isApproved: boolean): PendingState => {
  if (denial !== undefined) return 'rejected';
  return isApproved ? 'approved' : 'pending';
};

/** A denial ends the action alone; of several who decide together, one does not decide about later actions. */
const deniedOnce = ({ approver }: PendingAction, denial: Vote): Vote =>
  approver['form'] === 'consensus' ? { ...denial, remember: 'once' } : denial;

/** The approval that decides. It is remembered no longer than every approval asks for. */
function lastOf(approvals: readonly Vote[]): Vote | undefined {
  const least = Math.min(...approvals.map(({ remember }) => REMEMBER.indexOf(remember)));
  const last = approvals.at(-1);
  return last === undefined ? undefined : { ...last, remember: REMEMBER[least]! };
}

/** The records of a decision that also holds for later actions, one for each gate at which the action waited. */
function* memoryOf(
  { action_type, requested_by: agentId, approver, asked }: PendingAction,
  { decision, agent_id: by, remember }: Vote,
  { now, policy }: DecisionContext,
): Reading<readonly Mutation[]> {
  if (remember === 'once' || agentId === null) return [];
  const records = new Map<string, Mutation>();
  for (const { gate, namespace } of asked) {
    const what = { namespace, action_type, agent_id: agentId, gate };
    const image: Remembered = {
      ...what,
      rest: NO_REST,
      approver,
      decision,
      lasts: remember,
      session: remember === 'session' ? policy.governance.session : '',
      decided_by: by,
      decided_at: now,
    };
    const id = rememberedId(what);
    records.set(id, yield* putRecord(rememberedKind, { id, namespace }, image));
  }
  return [...records.values()];
}

/** The record of a decision in the audit chain, which stays when the action is removed. */
function recordOf(
  { pending_id, action_type, namespace }: PendingAction,
  { agent_id: agentId, decision }: Vote,
): Mutation {
  const type = decision === 'deny' ? 'pending_action.denied' : 'pending_action.approved';
  const payload = { pending_id, action_type, namespace };
  return appendAudit({ event: { agentId, type, payload } });
}

/** The failure that names the home, where that is another node; null where it is this one. */
export function* otherHome(id: string): Reading<Failure | null> {
  const home = yield* homeOf(id);
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  return home.peerId === self ? null : notHome(id, home);
}

/** The action of an id. One that this node took comes first: a record of another node cannot stand before it. */
export function* pendingRow(pendingId: string): Reading<Row<PendingAction> | null> {
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const own = yield* recordRow(pendingKind, homeId(self, pendingId));
  if (own !== null) return own;
  const asked = { kind: pendingKind.name, member: 'pending_id', value: pendingId, limit: 1 };
  const [found] = yield* recordsWith(asked);
  return found === undefined ? null : yield* recordRow(pendingKind, found.id);
}

function* votesOn({ pending_id: value, namespace }: PendingAction): Reading<readonly Vote[]> {
  const asked = { kind: voteKind.name, member: 'pending_id', value, limit: APPROVALS_MAX };
  const votes = (yield* recordsWith(asked)).map(({ image }) => image as Vote);
  // A vote lies in the namespace of its action, which its author may write in.
  return votes
    .filter((vote) => vote.namespace === namespace)
    .sort((a, b) => (a.voted_at < b.voted_at ? -1 : 1));
}

/** Why an agent may not decide an action (decisions, "who may decide"); null when it may. */
function* voterProblem(pending: PendingAction, agentId: AgentId): Reading<Failure | null> {
  const refuse = (cause: string): Failure => ({
    code: 'GOVERNANCE_REFUSED',
    message: `${agentId} may not decide this action: ${cause}`,
  });
  if (isRequester(pending, agentId)) return refuse('it requested the action itself');
  const { form, agent } = pending.approver as Partial<Approver> & { readonly agent?: unknown };
  if (form === 'agent') return agent === agentId ? null : refuse(`only ${String(agent)} decides it`);
  return (yield* isRegistered(agentId)) ? null : refuse('only registered agents decide; register it first');
}

/** True for the agent that called, and for the one that the call named for its writes, in whatever case. */
function isRequester({ requested_by, written_as, command }: PendingAction, agentId: AgentId): boolean {
  // Records of older releases name the writer as the requester, and the caller in the command.
  const { viewer } = command as { readonly viewer?: { readonly agentId?: unknown } | null };
  const names = [requested_by, written_as, viewer?.agentId];
  return names.some((name) => typeof name === 'string' && name.toLowerCase() === agentId.toLowerCase());
}

function neededBy({ approver }: PendingAction): number {
  const { form, votes } = approver as Partial<Approver> & { readonly votes?: unknown };
  return form === 'consensus' && typeof votes === 'number' ? votes : 1;
}

function stateProblem(pending: PendingAction, { now }: DecisionContext): Failure | null {
  const status = pending.status === 'pending' && pending.expires_at <= now ? 'expired' : pending.status;
  if (status === 'pending') return null;
  const message = `this action is ${status} already`;
  return failure('PENDING_ACTION_STATE_INVALID', message, { id: pending.pending_id, status });
}

const notFound = () =>
  fail(
    'PENDING_ACTION_NOT_FOUND',
    'pending action not found; "pending list" shows those that you may know of',
  );

const tally = (pending: PendingAction, votes: readonly Vote[]): PendingOutcome => ({
  pending,
  votes: votes.filter(({ decision }) => decision === 'approve').length,
  needed: neededBy(pending),
});

function merged<T>(result: Result<Decision<T>>, before: readonly Mutation[]): Result<Decision<T>> {
  if (!result.ok) return result;
  return { ok: true, value: { ...result.value, mutations: [...before, ...result.value.mutations] } };
}

export const votePendingCommand = defineCommand({
  kind: 'vote-pending',
  decide: decideVotePending,
  gate: 'governance',
  read: passed<VotePending>('vote-pending', {
    ...{ pendingId: isId, agentId: isAgent, decision: oneOf(['approve', 'deny']), remember: oneOf(REMEMBER) },
  }),
  forwarded: true,
});

export const settlePendingCommand = defineCommand({
  kind: 'settle-pending',
  decide: decideSettlePending,
  gate: 'governance',
});
