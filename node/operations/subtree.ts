import { subtreeRoot } from '../../protocol/ids.js';
import type { ReadCall } from '../pipeline/call.js';

/**
 * For an empty answer: which namespaces below the named one hold visible memories, as `namespaces_below`; nothing where
 * there are none, or the answer has covered them already.
 */
export async function emptyAbove(
  call: ReadCall,
  namespace: string | null,
): Promise<{ readonly namespaces_below?: string[] }> {
  if (namespace === null || subtreeRoot(namespace) !== null) return {};
  const { viewer } = call.caller;
  const found = await call.services.store.query({
    kind: 'namespaces-below',
    namespace,
    viewer,
    now: call.now,
  });
  const names = found.ok ? found.value.names : [];
  return names.length === 0 ? {} : { namespaces_below: [...names] };
}
