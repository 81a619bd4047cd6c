import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';

/** The full id for an id or a unique prefix: NOT_FOUND or AMBIGUOUS_ID_PREFIX. */
export async function resolveId(call: ReadCall, prefix: string): Promise<Result<string>> {
  const found = await call.services.store.query({
    kind: 'get-memory',
    id: prefix,
    linksMax: 0,
    viewer: call.caller.viewer,
    now: call.now,
  });
  return found.ok ? ok(found.value.memory.id) : failed(found.error);
}
