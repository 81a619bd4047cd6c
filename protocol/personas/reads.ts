import { defineRead } from '../decide/reads.js';

/** The highest version of the personas of an entity in a namespace, whoever sees them; 0 where there is none. */
export const personaVersionOf = defineRead<{ readonly entityId: string; readonly namespace: string }, number>(
  'persona-version',
);
