import type { Command } from '../commands.js';
import type { DecisionContext } from '../decide/deciding.js';
import { type Reading, read } from '../decide/reads.js';
import { recordRow } from '../decide/record-writes.js';
import { rememberedId, rememberedKind } from '../kinds/remembered-kind.js';
import type { Failure } from '../result.js';
import type { Approver, GatePolicy, PolicyProblem } from './effective-policy.js';
import { gateOf, isRegistered } from './gate-policy.js';
import { type GatedAction, type GatedPlace, gatedAction } from './gated-action.js';
import { noteRefusal, type RefusedPlace } from './note-refusal.js';
import { ruleDecision } from './permission-rules.js';
import { hasRulesForWrites, ruleRefusal } from './rules-for-writes.js';

/** What a policy says about a command. */
export type PolicyVerdict =
  /** The rule of the command decides, as without a policy. */
  | { readonly verdict: 'allow' }
  /** A policy lets callers change the rows of others. */
  | { readonly verdict: 'permit' }
  | {
      readonly verdict: 'refuse';
      readonly failure: Failure;
      /** What is recorded of the refusal; absent for what must wait, and for what is recorded already. */
      readonly refused?: RefusedPlace;
    };

const ALLOW: PolicyVerdict = { verdict: 'allow' };
const PERMIT: PolicyVerdict = { verdict: 'permit' };

/**
 * The policy of every command (interface §2.5, reference-federation §2.7): the rules of the operator, then the policies of
 * the namespaces. GOVERNANCE_REFUSED for what they forbid and for what cannot be evaluated; APPROVAL_REQUIRED, with the
 * action in its details, for what must wait. In the mode `advisory` nothing is refused, in `off` nothing is asked. What is
 * refused is recorded in the audit chain, although the command changes nothing.
 */
export function* policy(command: Command, context: DecisionContext): Reading<PolicyVerdict> {
  const { mode, rules, failOpen } = context.governance;
  const isGoverned = mode !== 'off' && (rules.length > 0 || (yield* read('has-policies', {})));
  const isRuled = yield* hasRulesForWrites(context);
  if (!isGoverned && !isRuled) return ALLOW;
  const action = yield* gatedAction(command, context.now);
  if (action === null) return ALLOW;
  const forbidden = isRuled ? yield* ruledOut(action, context) : null;
  if (forbidden !== null) return { verdict: 'refuse', failure: forbidden };
  if (!isGoverned) return ALLOW;
  const verdict = yield* judged(action, context);
  if (verdict.verdict !== 'refuse') return verdict;
  if (mode === 'advisory') return ALLOW;
  const cannotEvaluate = verdict.failure.details?.['reason'] === UNREADABLE;
  if (cannotEvaluate && failOpen) return ALLOW;
  if (verdict.refused !== undefined) yield* noteRefusal(action, verdict.refused, context);
  return verdict;
}

/**
 * What an approval lets a command do that was put aside. The rules about writes still count, and rows of others are changed
 * only where a policy says so now: a question of a permission rule gives no caller more rights.
 */
export function* approvedPolicy(command: Command, context: DecisionContext): Reading<PolicyVerdict> {
  const action = yield* gatedAction(command, context.now);
  if (action === null) return ALLOW;
  const forbidden = yield* ruledOut(action, context);
  if (forbidden !== null) return { verdict: 'refuse', failure: forbidden };
  for (const place of action.places) {
    if (place.gate === 'write') continue;
    const found = yield* policyAt(place);
    if ('problem' in found || found.from === null || found.level === 'owner') return ALLOW;
  }
  return PERMIT;
}

function* judged(action: GatedAction, context: DecisionContext): Reading<PolicyVerdict> {
  let mustAsk: Waiting | null = null;
  let permits = true;
  for (const place of action.places) {
    const rule = ruleDecision(context.governance.rules, action, place.namespace);
    if (rule?.decision === 'deny') return refuse(action, place, rule.reason ?? 'a permission rule denies it');
    const found = yield* policyAt(place);
    if ('problem' in found) return unreadable(found);
    const asks = rule?.decision === 'ask';
    const refusal = asks ? null : yield* refusalAt(action, place, found);
    if (refusal !== null) return refuse(action, place, refusal);
    if (asks || found.level === 'approve') {
      const known = yield* remembered(action, place, found.approver, context);
      if (known === 'deny') return refuse(action, place, 'an approver denied it, and had that remembered');
      const waits = known === null ? { namespace: place.namespace, approver: found.approver } : null;
      if (mustAsk !== null && waits !== null && !isSameApprover(mustAsk, waits)) {
        return refuse(action, place, `it and "${mustAsk.namespace}" have different approvers`);
      }
      mustAsk ??= waits;
    }
    const isOpen = found.level === 'any' || found.level === 'registered';
    // A write may be open to all, and the rows that are there still belong to their owners.
    permits &&= place.gate !== 'write' && found.from !== null && isOpen;
  }
  if (mustAsk !== null) return waiting(action, mustAsk);
  return permits ? PERMIT : ALLOW;
}

/** What holds at a place. Policies say nothing about links, and name who approves one that a permission rule asks about. */
function* policyAt({ gate, namespace }: GatedPlace): Reading<GatePolicy | PolicyProblem> {
  if (gate !== 'link') return yield* gateOf({ gate, namespace });
  const found = yield* gateOf({ gate: 'write', namespace });
  return 'problem' in found ? found : { ...found, level: 'any', from: null };
}

/** Why the rules about writes refuse an action; null for one that writes nothing new. */
function* ruledOut({ written, viewer }: GatedAction, context: DecisionContext): Reading<Failure | null> {
  if (written === null) return null;
  const { namespace, title, tier } = written;
  return yield* ruleRefusal({ agentId: viewer.agentId ?? 'operator', namespace, title, tier }, context);
}

/** Why the level of a gate keeps the caller out; null where it does not. */
function* refusalAt(
  { viewer }: GatedAction,
  { gate, rowOwner, namespace }: GatedPlace,
  found: GatePolicy,
): Reading<string | null> {
  // Without a policy the rules of the commands say who may change a row.
  if (found.from === null) return null;
  if (found.level === 'registered' && !(yield* isRegistered(viewer.agentId))) {
    return `only registered agents ${gate} in "${namespace}"; register the agent first`;
  }
  if (found.level !== 'owner' || viewer.all) return null;
  const owner = rowOwner === undefined ? found.owner : rowOwner;
  return owner !== null && owner === viewer.agentId ? null : `only the owner may ${gate} in "${namespace}"`;
}

/** What an approver had remembered for such an action; null when an approver must be asked. */
function* remembered(
  { action, viewer }: GatedAction,
  { namespace }: GatedPlace,
  approver: Approver,
  { governance }: DecisionContext,
): Reading<'approve' | 'deny' | null> {
  const { agentId } = viewer;
  if (agentId === null) return null;
  const id = rememberedId({ action_type: action, agent_id: agentId, namespace });
  const image = (yield* recordRow(rememberedKind, id))?.image ?? null;
  if (image === null || (image.lasts === 'session' && image.session !== governance.session)) return null;
  // The policy may name another approver since.
  if (approver.form === 'agent' && approver.agent !== image.decided_by) return null;
  return image.decision;
}

interface Waiting {
  readonly namespace: string;
  readonly approver: Approver;
}

const isSameApprover = (a: Waiting, b: Waiting): boolean =>
  JSON.stringify(a.approver) === JSON.stringify(b.approver);

const UNREADABLE = 'policy_unreadable';

function refuse({ action }: GatedAction, { namespace }: GatedPlace, reason: string): PolicyVerdict {
  const message = `governance refuses to ${action} in namespace "${namespace}": ${reason}`;
  return refusal(message, { action, namespace }, { namespace, reason });
}

function unreadable({ namespace, problem }: PolicyProblem): PolicyVerdict {
  const message = `the policy of namespace "${namespace}" cannot be evaluated: ${problem}; set it again`;
  const refused = { namespace, reason: UNREADABLE };
  return refusal(message, refused, refused);
}

const refusal = (message: string, details: object, refused: RefusedPlace): PolicyVerdict => ({
  verdict: 'refuse',
  failure: { code: 'GOVERNANCE_REFUSED', message, details: { ...details } },
  refused,
});

function waiting(action: GatedAction, { namespace, approver }: Waiting): PolicyVerdict {
  if (!action.canWait) {
    return refuse(
      action,
      { gate: 'delete', namespace },
      'it needs an approval; delete the memories by their ids',
    );
  }
  const details = { action: action.action, namespace, memory_id: action.memoryId, approver };
  const message = 'governance requires approval';
  return { verdict: 'refuse', failure: { code: 'APPROVAL_REQUIRED', message, details } };
}
