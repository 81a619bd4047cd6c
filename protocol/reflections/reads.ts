import { defineRead } from '../decide/reads.js';

/** How many reflections about an entity lie in a namespace, whoever sees them. */
export const reflectionCount = defineRead<{ readonly entityId: string; readonly namespace: string }, number>(
  'reflection-count',
);
