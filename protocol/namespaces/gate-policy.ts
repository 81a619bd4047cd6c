import { isReservedNamespace } from '../base/ids.js';
import type { AgentId } from '../base/meanings.js';
import type { Gate } from '../decide/gate.js';
import type { Reading } from '../decide/reads.js';
import { AGENTS_NAMESPACE, agentTitle } from '../identity/agent.js';
import { titleExpiryOf } from '../memory/reads.js';
import type { Standard } from '../memory/standard-kind.js';
import {
  type GatePolicy,
  gatePolicy,
  governanceOf,
  namespacesAbove,
  ofOperatorsAnd,
  type PolicyProblem,
  policiesOf,
  policyFor,
} from './effective-policy.js';
import type { Governance } from './policy-members.js';
import { hasPolicies, standardsOf } from './reads.js';

/**
 * What holds for a gate of a namespace. Namespaces of the service itself have no policy. Where all that changes is private
 * to one agent, the policies of other agents say nothing: their owners may not know of it.
 */
export function* gateOf({
  gate,
  namespace,
  privateTo = null,
}: {
  readonly gate: Gate;
  readonly namespace: string;
  readonly privateTo?: AgentId | null;
}): Reading<GatePolicy | PolicyProblem> {
  if (isReservedNamespace(namespace)) return gatePolicy([], gate);
  const standardOf = yield* standardsAbove(namespace);
  return policyFor(namespace, gate, privateTo === null ? standardOf : ofOperatorsAnd(privateTo, standardOf));
}

/** What the policies of a namespace say together; nothing for a namespace of the service itself. */
export function* governanceAt(namespace: string): Reading<Governance> {
  if (isReservedNamespace(namespace) || !(yield* hasPolicies())) return {};
  return governanceOf(policiesOf(namespace, yield* standardsAbove(namespace)));
}

/** Looks up the standards that a namespace can inherit from, those of named parents included; one may be given. */
export function* standardsAbove(
  namespace: string,
  given?: Standard,
): Reading<(namespace: string) => Standard | null> {
  const known = new Map<string, Standard | null>();
  let missing = namespacesAbove(namespace);
  while (missing.length > 0) {
    for (const name of missing) known.set(name, null);
    const found = yield* standardsOf({ namespaces: missing });
    for (const standard of found) known.set(standard.namespace, standard);
    const isAsked = given !== undefined && missing.includes(given.namespace);
    if (isAsked) known.set(given.namespace, given);
    const parents = [...found, ...(isAsked ? [given] : [])].flatMap(({ parent_namespace: parent }) =>
      parent === null ? [] : namespacesAbove(parent),
    );
    missing = [...new Set(parents)].filter((name) => !known.has(name));
  }
  return (name) => known.get(name) ?? null;
}

/** True for an agent that was registered. */
export function* isRegistered(agentId: AgentId | null): Reading<boolean> {
  if (agentId === null) return false;
  const title = agentTitle(agentId);
  return (yield* titleExpiryOf({ title, namespace: AGENTS_NAMESPACE })) !== null;
}
