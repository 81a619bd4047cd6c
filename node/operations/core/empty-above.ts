import { subtreeRoot } from '../../../protocol/base/ids.js';
import type { ReadCall } from '../../pipeline/call.js';

/**
 * For an empty answer: which namespaces below the named one hold visible memories, as `namespaces_below`, unless the
 * answer has covered them already; or, where none does, which namespace was probably meant, as `namespace_meant`.
 */
export async function emptyAbove(
  call: ReadCall,
  namespace: string | null,
): Promise<{ readonly namespaces_below?: string[]; readonly namespace_meant?: string }> {
  if (namespace === null) return {};
  const root = subtreeRoot(namespace);
  const { viewer } = call.caller;
  const found = await call.services.store.query({
    kind: 'namespaces-below',
    namespace: root ?? namespace,
    viewer,
    now: call.now,
  });
  if (!found.ok) return {};
  const { names, meant } = found.value;
  if (names.length > 0) return root === null ? { namespaces_below: [...names] } : {};
  return meant === null ? {} : { namespace_meant: root === null ? meant : `${meant}/**` };
}
