import { withAncestors } from '../base/ids.js';
import type { AgentId } from '../base/meanings.js';
import type { Gate } from '../decide/gate.js';
import type { Standard } from '../memory/standard-kind.js';
import { DEFAULT_GOVERNANCE, type Governance, governanceProblem } from './policy-members.js';
import { EVERYWHERE, standardChain } from './standard-chain.js';
import { isOperators, partOf } from './standard-owner.js';

/** Who may do an action (interface §2.5), from the loosest to the strictest. */
export const LEVELS = ['any', 'registered', 'owner', 'approve'] as const;
export type Level = (typeof LEVELS)[number];

/** Who decides on a pending action. */
export type Approver =
  | { readonly form: 'human' }
  | { readonly form: 'agent'; readonly agent: AgentId }
  | { readonly form: 'consensus'; readonly votes: number };

/** What holds for a gate of a namespace. */
export interface GatePolicy {
  readonly level: Level;
  readonly approver: Approver;
  /** The namespace whose policy decides; null where the default does. */
  readonly from: string | null;
  /** Who set the standard that decides; null for the operator. */
  readonly owner: AgentId | null;
  /** True where an admin or the operator set the policy that decides. */
  readonly isOperators: boolean;
}

/** Why the policy of a namespace cannot be evaluated. */
export interface PolicyProblem {
  readonly namespace: string;
  readonly problem: string;
}

/** The standards that a namespace inherits from, `*` first, each with the policy that counts. */
export type Policies = readonly Pick<Standard, 'namespace' | 'governance' | 'set_by' | 'operator_set'>[];

/**
 * The policies that hold in a namespace, the most general first. A policy without inheritance hides those above it.
 * `standardOf` answers the standard of a namespace, null where none is set.
 */
export function policiesOf(namespace: string, standardOf: StandardOf): Policies {
  const chain = standardChain(namespace, (at) => standardOf(at)?.parent_namespace ?? null);
  const policies: Standard[] = [];
  for (const at of chain) {
    const standard = standardOf(at);
    if (standard === null || standard.governance === null) continue;
    if (standard.governance['inherit'] === false) policies.length = 0;
    policies.push(standard);
  }
  return policies;
}

/** The namespaces whose standards a look at a namespace begins with: `*`, the ancestors and itself. */
export const namespacesAbove = (namespace: string): readonly string[] => [
  EVERYWHERE,
  ...withAncestors(namespace),
];

/**
 * What policies say together: each member as the nearest one has it. Of a policy that no release can have written, as a peer
 * may send it, nothing counts.
 */
export function governanceOf(policies: Policies): Governance {
  const sound = policies.filter(({ governance }) => governanceProblem(governance as Governance) === null);
  return Object.assign({}, ...sound.map(({ governance }) => governance)) as Governance;
}

/**
 * What holds for a gate: the nearest policy that sets it decides, and the nearest one that names an approver says who
 * decides on what it makes wait. Without any policy the default holds. A policy that no release can have written, as a
 * peer may send it, is a problem.
 */
export function gatePolicy(policies: Policies, gate: Gate): GatePolicy | PolicyProblem {
  for (const { namespace, governance } of policies) {
    const problem = governanceProblem(governance as Governance);
    if (problem !== null) return { namespace, problem };
  }
  const nearest = policies.findLast(({ governance }) => governance?.[gate] !== undefined);
  const named = policies.findLast(({ governance }) => governance?.['approver'] !== undefined);
  return {
    level: (nearest?.governance?.[gate] ?? DEFAULT_GOVERNANCE[gate]) as Level,
    approver: approverOf(named?.governance?.['approver'] ?? DEFAULT_GOVERNANCE['approver']),
    from: nearest?.namespace ?? null,
    owner: nearest?.set_by ?? null,
    isOperators: nearest !== undefined && isOperators(nearest, 'governance'),
  };
}

/** The approver that a valid policy names. */
export function approverOf(value: unknown): Approver {
  if (typeof value !== 'object' || value === null) return { form: 'human' };
  const { agent, consensus } = value as { readonly agent?: unknown; readonly consensus?: unknown };
  if (typeof agent === 'string') return { form: 'agent', agent };
  return { form: 'consensus', votes: Number(consensus) };
}

/** Looks up the standard of a namespace; null where none is set. */
type StandardOf = (namespace: string) => Standard | null;

/** The standards as far as an admin or the operator set them. */
export const ofOperators =
  (standardOf: StandardOf): StandardOf =>
  (at) => {
    const standard = standardOf(at);
    return standard === null ? null : partOf(standard, (member) => isOperators(standard, member));
  };

/** The standards as far as an admin, the operator or an agent set them: what counts for the agent's private memories. */
export const ofOperatorsAnd =
  (agentId: AgentId, standardOf: StandardOf): StandardOf =>
  (at) => {
    const standard = standardOf(at);
    if (standard === null || standard.set_by === agentId) return standard;
    return partOf(standard, (member) => isOperators(standard, member));
  };

/**
 * What holds for a gate of a namespace: the nearest policy, unless it lets more pass than the policies of admins and of
 * the operator do. So no agent excepts a namespace from these, however early it set its own policy or parent.
 */
export function policyFor(namespace: string, gate: Gate, standardOf: StandardOf): GatePolicy | PolicyProblem {
  const near = gatePolicy(policiesOf(namespace, standardOf), gate);
  const floor = gatePolicy(policiesOf(namespace, ofOperators(standardOf)), gate);
  if ('problem' in near || 'problem' in floor) return 'problem' in near ? near : floor;
  return isLooser(gate, near, floor) ? floor : near;
}

/** True when a gate lets more pass than before: a looser level, another owner of what only owners do, or another approver. */
export function isLooser(gate: Gate, after: GatePolicy, before: GatePolicy): boolean {
  if (before.from === null) return false;
  const [now, then] = [LEVELS.indexOf(after.level), LEVELS.indexOf(before.level)];
  // An approval lets others do what only the owner could.
  if (now !== then) return now < then || before.level === 'owner';
  if (before.level === 'owner') return gate === 'write' && after.owner !== before.owner;
  return before.level === 'approve' && JSON.stringify(after.approver) !== JSON.stringify(before.approver);
}
