import type { Link } from '../../protocol/link.js';
import { type Memory, type MemoryJson, memoryJson } from '../../protocol/memory.js';

/**
 * A memory as an export has it: as clients see it, with the stored instant of its creation and the author's signature,
 * so that an import can put back the very same row.
 */
export function exportedMemory(memory: Memory): MemoryJson {
  const json: MemoryJson = { ...memoryJson(memory), created_at: memory.created_at };
  if (memory.write_signature !== null) json['write_signature'] = memory.write_signature;
  return json;
}

/** A link with all that is set of it. */
export function exportedLink(link: Link): Record<string, unknown> {
  return Object.fromEntries(Object.entries(link).filter(([, value]) => value !== null));
}
