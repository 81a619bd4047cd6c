import type { AgentId } from '../base/meanings.js';
import { type Failure, fail, failed, failure } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isAgent, isFlag, isId, passed } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { writtenProblem } from '../identity/ensure-quota.js';
import { quotaHolder } from '../identity/quota.js';
import { isBase64OrNull, isInteger, isText, oneOf } from '../kinds/payload.js';
import { instant } from '../kinds/replicated-value.js';
import {
  ACTION_STATES,
  type Action,
  type ActionState,
  actionKind,
  isFinished,
  mayMove,
  type Transition,
} from './action-kind.js';
import { actionRow, noAction, prerequisitesOf } from './action-rows.js';
import { homeHere } from './home-here.js';
import { isLive, type Lease, leaseKind } from './lease-kind.js';
import { endTerm } from './lease-rows.js';
import { signatureHolds } from './reads.js';
import { transitionEnvelopeBytes } from './signed.js';

/** Who asks, as another node passes it on. */
export interface Actor {
  /** The agent that acts. */
  readonly by: AgentId;
  /** True for the operator of a node, who may act for every agent. */
  readonly operator: boolean;
}

/** Moves an action from the state in which the caller saw it. Only the home of the action decides. */
export interface TransitionAction extends Actor {
  readonly kind: 'transition-action';
  readonly id: string;
  /** The namespace of the action, which the signature covers. */
  readonly namespace: string;
  readonly from: ActionState;
  readonly to: ActionState;
  /** Whose the action is afterwards. */
  readonly claimedBy: AgentId | null;
  readonly token?: number | undefined;
  readonly nonce: string;
  readonly at: string;
  readonly signature: string | null;
  readonly publicKey: string | null;
}

/** What `transition-action` answers. */
export interface TransitionOutcome {
  readonly action: Action;
}

/**
 * Whose an action is after a move: a claim gives it to the agent that acts, a release to nobody, and another move to whom
 * the caller names, if anybody.
 */
export function claimerAfter(
  { claimed_by: before }: Pick<Action, 'claimed_by'>,
  to: ActionState,
  named: AgentId | null,
  by: AgentId,
): AgentId | null {
  if (to === 'pending') return null;
  return to === 'claimed' ? (named ?? by) : (named ?? before);
}

/**
 * NOT_FOUND; ILLEGAL_TRANSITION; ACTION_STATE_CHANGED for an action that is no longer in the state, or no longer of the
 * agent, that the caller saw; ACTION_BLOCKED for a claim before its prerequisites; NOT_LEASE_HOLDER, LEASE_LOST and
 * FORBIDDEN for an agent that may not; NOT_HOME on another node.
 */
function* decideTransition(command: TransitionAction, context: DecisionContext): Deciding<TransitionOutcome> {
  const row = yield* actionRow(command.id);
  if (row === null) return failed(noAction(command.id));
  const here = yield* homeHere(row.id);
  if ('elsewhere' in here) return failed(here.elsewhere);
  const { image: action } = row;
  const before = action.last;
  // The call may be one that was sent before and not answered.
  if (before?.nonce === command.nonce && before.by === command.by) return decided({ action }, []);
  const moved = moveProblem(action, command);
  if (moved !== null) return failed(moved);
  const lease = yield* recordRow(leaseKind, row.id);
  const live = lease !== null && isLive(lease.image, here.home.number) ? lease.image : null;
  const refused = leaseProblem(action, live, command) ?? agentProblem(action, live, command);
  if (refused !== null) return failed(refused);
  if (command.to === 'claimed') {
    const blocked = yield* blockedProblem(action);
    if (blocked !== null) return failed(blocked);
  }
  if (!(yield* isSigned(command))) {
    const message = 'the signature of the transition does not hold; send the request again';
    return fail('ATTESTATION_FAILED', message);
  }
  const chargedTo = quotaHolder(command.by);
  const written = command.operator ? null : yield* writtenProblem(chargedTo, context);
  if (written !== null) return failed(written);
  const image = yield* numbered(row.id, movedAction(action, command, context));
  const mutations: Mutation[] = [yield* putRecord(actionKind, row, image), recordOf(image, command)];
  const ends = command.to === 'pending' || isFinished(command.to);
  if (ends && live !== null) mutations.push(...(yield* endTerm(lease!, here.home)));
  const value = { mutations, value: { action: image } };
  return { ok: true, value: command.operator ? value : { ...value, chargedTo } };
}

/** Why the move cannot be made from the state in which the action is; null where it can. */
function moveProblem(
  action: Action,
  { namespace, from, to, claimedBy, by }: TransitionAction,
): Failure | null {
  const { state, claimed_by } = action;
  const changed = (what: string) => {
    const message = `action state changed concurrently: ${what}`;
    return failure('ACTION_STATE_CHANGED', message, { current_state: state, claimed_by });
  };
  if (action.namespace !== namespace) return changed(`it is in ${action.namespace}`);
  if (state !== from) return changed(`it is ${state}, not ${from}`);
  if (!mayMove(from, to))
    return failure('ILLEGAL_TRANSITION', `illegal action transition: ${from} -> ${to}`, { from, to });
  const isSame = claimedBy === claimerAfter(action, to, claimedBy, by);
  return isSame ? null : changed(`it is claimed by ${action.claimed_by ?? 'nobody'}`);
}

/** Why the caller has no say while the action is leased, or with the token that it gives. */
function leaseProblem(action: Action, live: Lease | null, command: TransitionAction): Failure | null {
  const { action_id } = action;
  const { by, operator, token } = command;
  if (token !== undefined && token !== live?.token) {
    const message = `the fencing token ${token} is not the one of a lease that is held; acquire the lease again`;
    return failure('LEASE_LOST', message, { action_id });
  }
  if (live === null || live.holder === by || mayAbandon(action, command)) return null;
  const message = `the action is leased by ${live.holder}; only that agent moves it until the lease ends`;
  return operator && token !== undefined
    ? null
    : failure('NOT_LEASE_HOLDER', message, { action_id, holder: live.holder! });
}

/** Why the agent may not make the move; null where it may. */
function agentProblem(action: Action, live: Lease | null, command: TransitionAction): Failure | null {
  const { by, operator, to } = command;
  const { agent_id: owner, created_by: creator, claimed_by: claimer } = action;
  if (operator || live?.holder === by) return null;
  if (mayAbandon(action, command)) return null;
  const refuse = (whose: string): Failure => ({
    code: 'FORBIDDEN',
    message: `${by} may not move this action: ${whose}`,
  });
  if (action.state === 'pending')
    return to === 'claimed' && (owner === null || owner === by)
      ? null
      : refuse(owner === null ? `only ${creator} abandons it` : `it belongs to ${owner}`);
  return claimer === null || claimer === by ? null : refuse(`it is claimed by ${claimer}`);
}

/** Its owner, its creator and the operator may give an action up whoever works on it. */
const mayAbandon = (
  { agent_id: owner, created_by: creator }: Action,
  { to, by, operator }: TransitionAction,
): boolean => to === 'abandoned' && (operator || owner === by || creator === by);

/** True for a move without a key; peers would park one with a wrong signature. */
function* isSigned({ id, publicKey, signature, ...move }: TransitionAction): Reading<boolean> {
  if (publicKey === null || signature === null) return publicKey === signature;
  const { namespace, from, to, claimedBy: claimed_by, at, nonce } = move;
  const data = transitionEnvelopeBytes({ action_id: id, namespace, from, to, claimed_by, at, nonce });
  return yield* signatureHolds({ publicKey, signature, data });
}

function* blockedProblem(action: Action): Reading<Failure | null> {
  const blocked = yield* prerequisitesOf(action);
  if (blocked.length === 0) return null;
  const named = blocked.map(({ id, state }) => `${id} (${state})`).join(', ');
  return failure('ACTION_BLOCKED', `the action waits for ${named}`, { blocked_by: blocked });
}

function movedAction(action: Action, command: TransitionAction, { now }: DecisionContext): Action {
  const { from, to, by, claimedBy: claimed_by, nonce, at, signature, publicKey: public_key } = command;
  const last: Transition = { from, to, by, claimed_by, nonce, at, signature, public_key };
  return { ...action, state: to, claimed_by, updated_at: now, last };
}

function recordOf({ action_id, namespace }: Action, { by, from, to, claimedBy }: TransitionAction): Mutation {
  const payload = { action_id, namespace, from, to, claimed_by: claimedBy };
  return appendAudit({ event: { agentId: by, type: 'coordination.action_transition', payload } });
}

const NONCE_LENGTH_MAX = 64;
const isNonce = (value: unknown): boolean =>
  isText(value) && value !== '' && value.length <= NONCE_LENGTH_MAX && isBase64OrNull(value);

export const transitionActionCommand = defineCommand({
  kind: 'transition-action',
  decide: decideTransition,
  gate: 'no memory',
  read: passed<TransitionAction>('transition-action', {
    ...{ id: isId, from: oneOf(ACTION_STATES), to: oneOf(ACTION_STATES), by: isAgent, operator: isFlag },
    namespace: isText,
    ...{
      claimedBy: (value) => value === null || isText(value),
      token: isAbsentOr(isInteger),
      nonce: isNonce,
    },
    ...{ at: instant, signature: isBase64OrNull, publicKey: isBase64OrNull },
  }),
  forwarded: true,
});
