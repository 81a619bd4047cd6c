import { canonicalJson } from '../base/canonical-json.js';
import type { DetailsOf } from '../base/error-details.js';
import type { MemoryId } from '../base/meanings.js';
import { detailsOf, type Failure, failure } from '../base/result.js';
import { type AnyCommand, type AnyDeclared, gatedBy } from '../decide/command.js';
import type { Approved, DecisionContext } from '../decide/deciding.js';
import type { GatedPlace } from '../decide/gate.js';
import type { PermissionOp, PermissionRule } from '../decide/permissions.js';
import type { Reading } from '../decide/reads.js';
import { recordRow } from '../decide/record-writes.js';
import { requesterViewer } from '../decide/requester.js';
import type { SeenRow } from '../decide/rows.js';
import { ownerOf } from '../identity/owner.js';
import { type Changes, memoryChanges } from '../memory/changes.js';
import type { Approver, GatePolicy, PolicyProblem } from '../namespaces/effective-policy.js';
import { gateOf, isRegistered } from '../namespaces/gate-policy.js';
import { hasPolicies } from '../namespaces/reads.js';
import { type DepthGate, depthGateOf } from '../namespaces/reflection-policy.js';
import { ruleDecision } from '../rules/permission-rules.js';
import { hasRulesForWrites, ruleRefusal } from '../rules/rules-for-writes.js';
import { type GatedAction, gatedAction } from './gated-action.js';
import { noteRefusal, type RefusedPlace } from './note-refusal.js';
import type { AskedPlace, ComingRow } from './pending-kind.js';
import { rememberedId, rememberedKind } from './remembered-kind.js';
import { changedSince, seenRows } from './seen-rows.js';

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

/** Judges what a command would change, before it changes anything. */
export type Judge = (changes: Changes) => Reading<PolicyVerdict>;

/**
 * The policy of every command (interface §2.5, reference-federation §2.7): the rules of the operator, then the policies of
 * the namespaces; null where there is nothing to ask. GOVERNANCE_REFUSED for what they forbid and for what cannot be
 * evaluated; APPROVAL_REQUIRED, with the action in its details, for what must wait. In the mode `advisory` nothing is refused,
 * in `off` nothing is asked. What is refused is recorded in the audit chain, although the command changes nothing.
 */
export function* policy(
  declared: AnyDeclared,
  command: AnyCommand,
  context: DecisionContext,
): Reading<Judge | null> {
  if (gatedBy(declared, command) === null) return null;
  const { mode, rules } = context.policy.governance;
  const isGoverned = mode !== 'off' && (rules.length > 0 || (yield* hasPolicies()));
  const isRuled = yield* hasRulesForWrites(context);
  if (!isGoverned && !isRuled) return null;
  return (changes) =>
    judge(() => gatedAction(declared, command, changes), changes, { isGoverned, isRuled }, context);
}

function* judge(
  asked: () => Reading<GatedAction | null>,
  changes: Changes,
  { isGoverned, isRuled }: { readonly isGoverned: boolean; readonly isRuled: boolean },
  context: DecisionContext,
): Reading<PolicyVerdict> {
  const action = yield* asked();
  if (action === null) return ALLOW;
  const forbidden = isRuled ? yield* ruledOut(action, context) : null;
  if (forbidden !== null) return { verdict: 'refuse', failure: forbidden };
  if (!isGoverned) return ALLOW;
  const verdict = yield* judged(action, changes, context);
  if (verdict.verdict !== 'refuse') return verdict;
  const { mode, failOpen } = context.policy.governance;
  if (mode === 'advisory') return ALLOW;
  const cannotEvaluate = detailsOf(verdict.failure, 'GOVERNANCE_REFUSED')?.reason === UNREADABLE;
  if (cannotEvaluate && failOpen) return ALLOW;
  if (verdict.refused !== undefined) yield* noteRefusal(action, verdict.refused, context);
  return verdict;
}

/**
 * What an approval lets a command do that was put aside: change the rows that it was requested about, while they are as
 * they were then. VERSION_CONFLICT otherwise. The rules about writes still count, and each gate is looked at again: one that
 * another approver keeps now, or that keeps the requester out, refuses. Rows of others are changed only where a policy says
 * so now: a question of a permission rule gives no caller more rights.
 */
export const approvedPolicy =
  (declared: AnyDeclared, command: AnyCommand, approved: Approved, context: DecisionContext): Judge =>
  (changes) =>
    judgeApproved(() => gatedAction(declared, command, changes), approved, changes, context);

function* judgeApproved(
  asked: () => Reading<GatedAction | null>,
  approved: Approved,
  changes: Changes,
  context: DecisionContext,
): Reading<PolicyVerdict> {
  const rows = yield* seenRows(changes, requesterViewer(approved.requester.requestedBy));
  const changed = changedSince(approved.reads, rows, approved.pendingId);
  if (changed !== null) return { verdict: 'refuse', failure: changed };
  const action = yield* asked();
  if (action === null) return ALLOW;
  const forbidden = yield* ruledOut(action, context);
  if (forbidden !== null) return { verdict: 'refuse', failure: forbidden };
  let permits = true;
  for (const place of action.places) {
    const found = yield* policyAt(place);
    const refused =
      context.policy.governance.mode === 'enforce'
        ? yield* keptOut(action, place, found, approved, context)
        : null;
    if (refused !== null) return refused;
    if (place.gate === 'write') continue;
    permits &&= !('problem' in found) && found.from !== null && found.level !== 'owner';
  }
  return permits ? PERMIT : ALLOW;
}

/** Why a gate of an approved action does not open any more; null where it does. */
function* keptOut(
  action: GatedAction,
  place: GatedPlace,
  found: GatePolicy | PolicyProblem,
  { approver }: Approved,
  { policy }: DecisionContext,
): Reading<PolicyVerdict | null> {
  const rule = rulingAt(policy.governance.rules, action, place);
  if (rule?.decision === 'deny')
    return refuse(action, place, rule.reason ?? 'a permission rule denies it', rule.op);
  if ('problem' in found) return policy.governance.failOpen ? null : unreadable(found);
  const asks = rule?.decision === 'ask' || found.level === 'approve';
  const refusal = asks ? null : yield* refusalAt(action, place, found);
  if (refusal !== null) return refuse(action, place, refusal);
  if (!asks || isSame(found.approver, approver)) return null;
  return refuse(action, place, 'it has another approver than when this was requested; send a new request');
}

function* judged(action: GatedAction, changes: Changes, context: DecisionContext): Reading<PolicyVerdict> {
  const asked: Waiting[] = [];
  let permits = true;
  for (const place of action.places) {
    const rule = rulingAt(context.policy.governance.rules, action, place);
    if (rule?.decision === 'deny')
      return refuse(action, place, rule.reason ?? 'a permission rule denies it', rule.op);
    const found = yield* policyAt(place);
    if ('problem' in found) return unreadable(found);
    const asks = rule?.decision === 'ask';
    const refusal = asks ? null : yield* refusalAt(action, place, found);
    if (refusal !== null) return refuse(action, place, refusal);
    if (asks || found.level === 'approve') {
      const known = yield* remembered(action, place, found.approver, context);
      if (known === 'deny') return refuse(action, place, 'an approver denied it, and had that remembered');
      const [first] = asked;
      if (known === null && first !== undefined && !isSame(first.approver, found.approver)) {
        return refuse(action, place, `it and "${first.namespace}" have different approvers`);
      }
      if (known === null) asked.push(waitingAt(place, found));
    }
    const isOpen = found.level === 'any' || found.level === 'registered';
    // A write may be open to all, and the rows that are there still belong to their owners.
    permits &&= place.gate !== 'write' && found.from !== null && isOpen;
  }
  if (asked.length > 0) return yield* waiting(action, asked, changes);
  return permits ? PERMIT : ALLOW;
}

/** The permission rule that decides at a place: a denial of any of its operations wins, then a question. */
function rulingAt(
  rules: readonly PermissionRule[],
  { viewer }: GatedAction,
  { ops, namespace }: GatedPlace,
): PermissionRule | null {
  const found = ops.map((op) => ruleDecision(rules, { op, viewer }, namespace));
  return (
    found.find((rule) => rule?.decision === 'deny') ?? found.find((rule) => rule?.decision === 'ask') ?? null
  );
}

/** The policy that applies at a gate of a namespace. Links have none; for them it only names the approver. */
function* policyAt(place: GatedPlace): Reading<DepthGate | GatePolicy | PolicyProblem> {
  const { gate, namespace, privateTo, depth = 0 } = place;
  if (gate === 'reflect') return yield* depthGateOf({ namespace, privateTo: privateTo ?? null, depth });
  if (gate !== 'link') return yield* gateOf({ gate, namespace, privateTo: privateTo ?? null });
  const found = yield* gateOf({ gate: 'write', namespace });
  return 'problem' in found ? found : { ...found, level: 'any', from: null };
}

/** Why the rules about writes refuse an action; null where they let every memory pass that it writes. */
function* ruledOut({ written, viewer }: GatedAction, context: DecisionContext): Reading<Failure | null> {
  for (const { namespace, title, tier } of written) {
    const agentId = viewer.agentId ?? 'operator';
    const refusal = yield* ruleRefusal({ agentId, namespace, title, tier }, context);
    if (refusal !== null) return refusal;
  }
  return null;
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

/** What an approver had remembered for such an action at a gate; null when an approver must be asked. */
function* remembered(
  { action, viewer }: GatedAction,
  { gate, namespace }: GatedPlace,
  approver: Approver,
  { policy }: DecisionContext,
): Reading<'approve' | 'deny' | null> {
  const { agentId } = viewer;
  if (agentId === null) return null;
  const id = rememberedId({ action_type: action, agent_id: agentId, gate, namespace });
  const image = (yield* recordRow(rememberedKind, id))?.image ?? null;
  if (image === null || (image.lasts === 'session' && image.session !== policy.governance.session))
    return null;
  // The policy may name another approver since.
  return isSame(approver, image.approver) ? image.decision : null;
}

declare module '../base/error-details.js' {
  interface ErrorDetails {
    /** The action that waits, for the record of it. */
    readonly APPROVAL_REQUIRED: {
      readonly action: string;
      readonly namespace: string;
      readonly memory_id: MemoryId | null;
      readonly approver: Approver;
      readonly asked: readonly AskedPlace[];
      readonly reads: readonly SeenRow[];
      readonly becomes: readonly ComingRow[];
      /** Absent where nothing waits for the depth of a reflection. */
      readonly reflection?: AskedDepth;
    };
  }
}

/** The depth that a reflection would have, and above which depth a policy wants an approval. */
interface AskedDepth {
  readonly proposed_depth: number;
  readonly require_approval_above_depth: number;
}

interface Waiting extends AskedPlace {
  readonly approver: Approver;
  readonly reflection?: AskedDepth;
}

function waitingAt({ gate, namespace, depth }: GatedPlace, found: DepthGate | GatePolicy): Waiting {
  const { approver } = found;
  if (depth === undefined || !('above' in found)) return { gate, namespace, approver };
  const reflection = { proposed_depth: depth, require_approval_above_depth: found.above };
  return { gate, namespace, approver, reflection };
}

/** A record gives the members in another order. */
const isSame = (a: object, b: object): boolean => canonicalJson(a) === canonicalJson(b);

const UNREADABLE = 'policy_unreadable';

function refuse(
  { action }: GatedAction,
  { namespace, ops }: Pick<GatedPlace, 'namespace' | 'ops'>,
  reason: string,
  op: PermissionOp = ops[0]!,
): PolicyVerdict {
  const message = `governance refuses to ${action} in namespace "${namespace}": ${reason}`;
  return refusal(message, { action, namespace }, { namespace, reason, op });
}

function unreadable({ namespace, problem }: PolicyProblem): PolicyVerdict {
  const message = `the policy of namespace "${namespace}" cannot be evaluated: ${problem}; set it again`;
  const refused = { namespace, reason: UNREADABLE };
  return refusal(message, refused, refused);
}

const refusal = (
  message: string,
  details: DetailsOf<'GOVERNANCE_REFUSED'>,
  refused: RefusedPlace,
): PolicyVerdict => ({
  verdict: 'refuse',
  failure: failure('GOVERNANCE_REFUSED', message, details),
  refused,
});

/** What an action would write, for who decides about it. */
function comingRows({ saysText }: GatedAction, { mutations }: Changes): readonly ComingRow[] {
  if (saysText) return [];
  return memoryChanges(mutations).flatMap(({ after }) => {
    if (after === null) return [];
    const { id, namespace, title, content, tier, metadata } = after;
    const scope = typeof metadata['scope'] === 'string' ? metadata['scope'] : null;
    return [{ id, namespace, title, content, tier, owner: ownerOf(after), scope }];
  });
}

function* waiting(action: GatedAction, asked: readonly Waiting[], changes: Changes): Reading<PolicyVerdict> {
  const { namespace, approver } = asked[0]!;
  if (!action.canWait) {
    const place = action.places.find((each) => each.namespace === namespace)!;
    const instead = action.instead === null ? '' : `; ${action.instead}`;
    return refuse(action, place, `it needs an approval${instead}`);
  }
  const details = {
    ...{ action: action.action, namespace, memory_id: action.memoryId, approver },
    asked: asked.map((place) => ({ gate: place.gate, namespace: place.namespace })),
    reads: yield* seenRows(changes, action.viewer),
    becomes: comingRows(action, changes),
    ...asked.reduce((deep, { reflection }) => (reflection === undefined ? deep : { reflection }), {}),
  };
  const message = 'governance requires approval';
  return { verdict: 'refuse', failure: failure('APPROVAL_REQUIRED', message, details) };
}
