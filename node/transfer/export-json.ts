import { NO_REST, parsedObject, type Rest } from '../../protocol/kinds/payload.js';
import type { RecordImage } from '../../protocol/kinds/record.js';
import type { Link } from '../../protocol/links/link.js';
import { type Memory, type MemoryJson, memoryJson } from '../../protocol/memory/memory.js';
import { KINDS } from '../../protocol/release.js';

/**
 * A memory in an export: as clients see it, with the stored instant of its creation and the author's signature, so that
 * an import can restore exactly the same row.
 */
export function exportedMemory(memory: Memory): MemoryJson {
  const json: MemoryJson = { ...memoryJson(memory), created_at: memory.created_at };
  if (memory.write_signature !== null) json['write_signature'] = memory.write_signature;
  return { ...json, ...restOf(memory.rest) };
}

/** A link with all its set members. */
export function exportedLink({ rest, ...link }: Link): Record<string, unknown> {
  const set = Object.entries(link).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(set), ...restOf(rest) };
}

/** A record with its members as its kind writes them. */
export function exportedRecord({ kind: name, id, namespace, image }: RecordImage): Record<string, unknown> {
  const { rest } = image as { readonly rest: Rest };
  const members = parsedObject(KINDS.of(name).payload.text({ ...image, rest: NO_REST }));
  // The place comes first, for readers of the file.
  return { kind: name, id, namespace, ...members, ...restOf(rest) };
}

/** Members that this release does not know are kept apart, so that no name can mean two things. */
const restOf = (rest: Rest): { readonly rest?: Rest } => (Object.keys(rest).length === 0 ? {} : { rest });
