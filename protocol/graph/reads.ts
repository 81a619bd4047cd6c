import type { MemoryId } from '../base/meanings.js';
import { defineRead } from '../decide/reads.js';
import type { LinkKey, Relation } from '../links/link.js';

/** Whether links of the same relation that were not invalidated lead from the target of a link to its source. */
export const leadsBack = defineRead<
  { readonly link: LinkKey; readonly rowsMax: number },
  'yes' | 'no' | 'unknown'
>('leads-back');
/** How many links that were not invalidated lead from or to a memory; the limit where there are more. */
export const linkCount = defineRead<{ readonly memoryId: MemoryId; readonly limit: number }, number>(
  'link-count',
);
/** The memories from which links of a relation that were not invalidated lead to a memory, by id. */
export const sourcesOf = defineRead<
  { readonly targetId: MemoryId; readonly relation: Relation; readonly limit: number },
  readonly MemoryId[]
>('sources-of');
