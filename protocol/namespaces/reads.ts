import type { AgentId } from '../base/meanings.js';
import { defineRead } from '../decide/reads.js';
import type { Standard } from '../memory/standard-kind.js';

/** Whether any namespace has a standard. */
export const hasPolicies = defineRead<void, boolean>('has-policies');
/** The standards of namespaces; those that have none are left out. */
export const standardsOf = defineRead<{ readonly namespaces: readonly string[] }, readonly Standard[]>(
  'standards-of',
);
/** Whether there are memories that are not an agent's in a namespace or below it, those that it does not see included. */
export const holdsOthers = defineRead<
  { readonly namespace: string; readonly agentId: AgentId | null },
  boolean
>('holds-others');
