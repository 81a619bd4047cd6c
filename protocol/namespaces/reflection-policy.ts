import { isReservedNamespace } from '../base/ids.js';
import { REFLECTION_DEPTH_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import type { Reading } from '../decide/reads.js';
import { isCount } from '../kinds/payload.js';
import {
  type GatePolicy,
  gatePolicy,
  ofOperators,
  ofOperatorsAnd,
  type Policies,
  type PolicyProblem,
  policiesOf,
} from './effective-policy.js';
import { standardsAbove } from './gate-policy.js';

/** Where a reflection is written, and the agent that alone sees it; null where others see it too. */
interface Place {
  readonly namespace: string;
  readonly privateTo: AgentId | null;
}

/** What holds for the depth of a reflection; `above` is the depth above which it waits for an approval. */
export interface DepthGate extends GatePolicy {
  readonly above: number;
}

/**
 * How deep reflections of a namespace may go; 0 for none. The nearest policy decides, unless those of admins and of the
 * operator say less.
 */
export function* depthCapOf(place: Place): Reading<number> {
  const { near, floor } = yield* policiesAt(place);
  const said = numberIn(near, 'max_reflection_depth') ?? REFLECTION_DEPTH_MAX;
  return Math.min(said, numberIn(floor, 'max_reflection_depth') ?? said);
}

/** What holds for a reflection of that depth: the policies of admins and of the operator are asked first. */
export function* depthGateOf({
  depth,
  ...place
}: Place & { readonly depth: number }): Reading<DepthGate | GatePolicy | PolicyProblem> {
  const { near, floor } = yield* policiesAt(place);
  for (const policies of [floor, near]) {
    const found = gatePolicy(policies, 'write');
    if ('problem' in found) return found;
    const above = numberIn(policies, 'require_approval_above_depth');
    if (above !== null && depth > above) return { ...found, from: null, level: 'approve', above };
  }
  return { ...(gatePolicy([], 'write') as GatePolicy), level: 'any' };
}

/** The policies that hold at a place, and those of them that no agent gave. */
function* policiesAt({ namespace, privateTo }: Place): Reading<{ near: Policies; floor: Policies }> {
  if (isReservedNamespace(namespace)) return { near: [], floor: [] };
  const standardOf = yield* standardsAbove(namespace);
  const known = privateTo === null ? standardOf : ofOperatorsAnd(privateTo, standardOf);
  return { near: policiesOf(namespace, known), floor: policiesOf(namespace, ofOperators(standardOf)) };
}

/** What the nearest policy says that says it; a value that no policy can hold, as a peer may send it, says nothing. */
export function numberIn(policies: Policies, member: string): number | null {
  const nearest = policies.findLast(({ governance }) => isCount(governance?.[member]));
  return (nearest?.governance?.[member] as number | undefined) ?? null;
}
