import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

/** The memory for an id or a unique prefix: NOT_FOUND or AMBIGUOUS_ID_PREFIX. */
export async function readMemory(call: ReadCall, prefix: string): Promise<Result<MemoryRow>> {
  const { viewer } = call.caller;
  const asked = { kind: 'get-memory', id: prefix, linksMax: 0, viewer, now: call.now } as const;
  const found = await call.services.store.query(asked);
  return found.ok ? ok(found.value.memory) : failed(found.error);
}

/** Its full id. */
export async function resolveId(call: ReadCall, prefix: string): Promise<Result<string>> {
  const found = await readMemory(call, prefix);
  return found.ok ? ok(found.value.id) : failed(found.error);
}
