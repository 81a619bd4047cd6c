import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { ReadCall } from '../pipeline/call.js';
import { shownMemory } from './shown-memories.js';

/** The members of a payload that a call gives. */
export const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The memory that a call names by its id or a prefix; null where the caller sees none. */
export async function namedMemory(
  { services, caller, now }: ReadCall,
  id: string,
): Promise<MemoryRow | null> {
  const found = await services.store.query({
    kind: 'get-memory',
    id,
    linksMax: 0,
    viewer: caller.viewer,
    now,
  });
  return found.ok ? found.value.memory : null;
}

/** A memory that was just written, whole, as its hooks hear it; none when it has gone since. */
export async function writtenMemory(call: ReadCall, id: string) {
  const memory = await namedMemory(call, id);
  if (memory === null) return [];
  const shown: object = await shownMemory(call, memory);
  return [{ namespace: memory.namespace, payload: { ...shown } }];
}

/** What hooks hear before a memory is copied into a namespace; nothing where there is none. */
export function copied(memory: MemoryRow | null, namespace: string | undefined) {
  if (memory === null || namespace === undefined) return [];
  const { tier, title, content, tags, priority, confidence, source, metadata } = memory;
  const payload = { tier, namespace, title, content, tags, priority, confidence, source, metadata };
  return [{ namespace, payload }];
}
