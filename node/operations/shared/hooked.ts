import type { Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';
import { seenMemories, seenMemory } from '../../pipeline/seen-memories.js';
import { type Showing, shownMemory } from './shown-memories.js';

/** The members of a payload that a call gives. */
export const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/**
 * The texts that a write stores beside what hooks may rewrite, so that a guard sees all of them. Absent and empty ones are
 * left out.
 */
export function textsBeside(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { source_uri, citations, source_span, entity_id, scope, conversation } = fields;
  const said = Object.entries({ source_uri, citations, source_span, entity_id, scope, conversation });
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(said.filter(([, value]) => !isEmpty(value)));
}

/** What of a call is needed to read a memory and show it. */
export type Looking = Showing & { readonly caller: Pick<ReadCall['caller'], 'viewer'> };

const lookingFor = ({ services: { store }, caller: { viewer }, now }: Looking) => ({ store, viewer, now });

/** The memory that a call names by its id or a prefix; null where the caller sees none. */
export const namedMemory = (call: Looking, id: string): Promise<Result<MemoryRow | null>> =>
  seenMemory(lookingFor(call), id);

/** The same for each of many ids. */
export const namedMemories = (
  call: ReadCall,
  ids: readonly string[],
): Promise<Result<readonly (MemoryRow | null)[]>> => seenMemories(lookingFor(call), ids);

/** A memory that was just written, whole, as its hooks hear it; none when it cannot be read any more. */
export async function writtenMemory(call: Looking, id: string) {
  const found = await namedMemory(call, id);
  if (!found.ok || found.value === null) return [];
  const shown: object = await shownMemory(call, found.value);
  return [{ namespace: found.value.namespace, payload: { ...shown } }];
}

/** What hooks hear before a memory is copied into a namespace; nothing where there is none. */
export function copied(memory: MemoryRow | null, namespace: string | undefined) {
  if (memory === null || namespace === undefined) return [];
  const { tier, title, content, tags, priority, confidence, source, metadata } = memory;
  const stated = { tier, namespace, title, content, tags, priority, confidence, source, metadata };
  return [{ namespace, payload: { ...stated, ...textsBeside({ ...memory }) } }];
}
