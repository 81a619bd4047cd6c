import type { Memory } from '../../../protocol/memory/memory.js';
import type { CarriedText, Placing } from '../../pipeline/operation.js';
import { namedMemory } from './hooked.js';

/** What a memory says, as a call takes it to a namespace. */
export function carriedText(memory: Memory, from: string | null, to: string): CarriedText {
  const { title, content, tags, metadata, citations, source_uri } = memory;
  return { text: { title, content, tags, metadata, citations, source_uri }, from, to };
}

/** The same for memories that a call names; nothing for one that the caller does not see, which the call refuses. */
export async function carriedTexts(
  call: Placing,
  ids: readonly string[],
  to: string,
): Promise<readonly CarriedText[]> {
  const found = await Promise.all(ids.map((id) => namedMemory({ ...call, services: call.services }, id)));
  return found.flatMap((each) => {
    const memory = each.ok ? each.value : null;
    return memory === null || memory.namespace === to ? [] : [carriedText(memory, memory.namespace, to)];
  });
}
