import { GATES, type Gate } from '../decide/gate.js';
import type { Standard } from '../memory/standard-kind.js';
import { isLooser, policyFor } from './effective-policy.js';
import { isLooserRead, readPolicyAt } from './read-policies.js';
import { standardChain } from './standard-chain.js';

/** A namespace below a standard, and what of that does not count there. */
export interface Excepted {
  readonly namespace: string;
  /** True where another parent keeps the pinned memory away. */
  readonly memory: boolean;
  /** The gates of the policy that let more pass there, because of a policy or another parent that is nearer. */
  readonly gates: readonly (Gate | 'read')[];
}

/** What of a standard does not count in a namespace below it; null where all of it does. */
export function exceptedAt(
  namespace: string,
  standard: Standard,
  standardOf: (namespace: string) => Standard | null,
): Excepted | null {
  const chain = standardChain(namespace, (at) => standardOf(at)?.parent_namespace ?? null);
  const memory = standard.standard_id !== null && !chain.includes(standard.namespace);
  const gates: (Gate | 'read')[] = GATES.filter((gate) => {
    if (standard.governance?.[gate] === undefined) return false;
    const here = policyFor(standard.namespace, gate, standardOf);
    const there = policyFor(namespace, gate, standardOf);
    return !('problem' in here) && !('problem' in there) && isLooser(gate, there, here);
  });
  const [here, there] = [readPolicyAt(standard.namespace, standardOf), readPolicyAt(namespace, standardOf)];
  if (standard.governance?.['read'] !== undefined && isLooserRead(there, here)) gates.push('read');
  return memory || gates.length > 0 ? { namespace, memory, gates } : null;
}
