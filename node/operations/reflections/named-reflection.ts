import { MEMORY_LINKS_MAX } from '../../../protocol/base/limits.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../../../protocol/base/result.js';
import type { StoredLink } from '../../../protocol/graph/link-queries.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';
import type { Looking } from '../shared/hooked.js';

/** The failure of a look-up, with the id as it was given. */
export const memoryNotFound = (error: Failure, id: string): Failure =>
  error.code === 'NOT_FOUND' ? failure('NOT_FOUND', `memory not found: ${id}`) : error;

/** The reflection that an id or a prefix names: NOT_FOUND, or VALIDATION_FAILED for a memory of another kind. */
export async function namedReflection(call: ReadCall, id: string): Promise<Result<MemoryRow>> {
  const { viewer } = call.caller;
  const found = await call.services.store.query({
    ...{ kind: 'get-memory', id, linksMax: 0, viewer, now: call.now },
  });
  if (!found.ok) return failed(memoryNotFound(found.error, id));
  const { memory } = found.value;
  if (memory.kind === 'reflection') return ok(memory);
  return fail('VALIDATION_FAILED', `memory is not a reflection: ${id}`, { fields: ['memory_id'] });
}

/** The links from a reflection to the memories that it is about, as far as the caller sees these. */
export async function sourceLinks(call: Looking, id: string): Promise<Result<readonly StoredLink[]>> {
  const { viewer } = call.caller;
  const found = await call.services.store.query({
    ...{
      kind: 'named-links',
      sourceId: id,
      targetId: null,
      relation: 'reflects_on',
      limit: MEMORY_LINKS_MAX,
    },
    ...{ viewer, now: call.now },
  });
  if (!found.ok) return failed(found.error);
  return ok(found.value.found.filter(({ link }) => link.retired_at === null));
}
