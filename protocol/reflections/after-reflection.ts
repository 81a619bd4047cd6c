import type { Instant } from '../base/meanings.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import { enqueued } from '../jobs/enqueue.js';
import type { Memory } from '../memory/memory.js';
import { governanceAt } from '../namespaces/gate-policy.js';
import { reflectionCount } from './reads.js';

/** Which policy orders a file of each memory of a kind, which the operator of the machine finds in a folder of the home. */
const EXPORTS = {
  reflection: 'auto_export_reflections_to_filesystem',
  persona: 'auto_export_personas_to_filesystem',
} as const;

/** Queues the file of a new reflection or persona, where the policies of its namespace order one. */
export function* exportOrders(memory: Memory, now: Instant): Reading<readonly Mutation[]> {
  const caller = ownerOf(memory);
  const policy = EXPORTS[memory.kind as keyof typeof EXPORTS];
  if (caller === null || (yield* governanceAt(memory.namespace))[policy] !== true) return [];
  const input = { memory_id: memory.id };
  return yield* enqueued({ type: 'export_memory', name: memory.id, input, caller, local: true }, now);
}

/** Queues the next persona of an entity with every so many reflections about it, where the policies of its namespace order it. */
export function* personaOrders(memory: Memory, now: Instant): Reading<readonly Mutation[]> {
  const { mentioned_entity_id: entityId, namespace } = memory;
  const caller = ownerOf(memory);
  if (entityId === null || caller === null) return [];
  const every = (yield* governanceAt(namespace))['auto_persona_trigger_every_n_memories'];
  if (!Number.isInteger(every) || (every as number) < 1) return [];
  const count = 1 + (yield* reflectionCount({ entityId, namespace }));
  if (count % (every as number) !== 0) return [];
  const input = { entity_id: entityId, namespace };
  return yield* enqueued({ type: 'persona', name: memory.id, input, caller, local: true }, now);
}
