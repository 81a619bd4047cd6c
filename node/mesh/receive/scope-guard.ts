import { mayHold } from '../../../protocol/mesh/peer.js';
import type { VerifiedOperation } from '../../../protocol/mesh/store-terms.js';
import { peerOfOrigin } from '../../../protocol/mesh/wire.js';
import type { Clock } from '../../../protocol/seams.js';
import { instantFromMs } from '../../../protocol/time.js';
import type { Store } from '../../../storage/port.js';
import type { Origins } from './verify-operations.js';

/**
 * Keeps a peer with a scope from reaching beyond it through a subject: an operation that lies in its scope but changes a
 * memory that lies outside here counts as a stub. Only operations of such peers cost a look.
 */
export async function guardScopes(
  operations: readonly VerifiedOperation[],
  { store, origins, clock }: { readonly store: Store; readonly origins: Origins; readonly clock: Clock },
): Promise<readonly VerifiedOperation[]> {
  const guarded: VerifiedOperation[] = [];
  for (const operation of operations) {
    const scope = origins.scopeOf(peerOfOrigin(operation.origin));
    const inside =
      operation.payload === null ||
      scope.allowedNamespaces === null ||
      (await subjectsOf(operation, store, clock)).every((namespace) => mayHold(scope, namespace));
    guarded.push(inside ? operation : { ...operation, payload: null });
  }
  return guarded;
}

/** The namespaces here of what an operation changes: of its memory, or of both ends of its link. */
async function subjectsOf(
  { kind, subject }: VerifiedOperation,
  store: Store,
  clock: Clock,
): Promise<string[]> {
  const ids = kind === 'link' || kind === 'unlink' ? subject.split('|').slice(0, 2) : [subject];
  const namespaces: string[] = [];
  for (const id of ids) {
    const found = await store.query({
      kind: 'get-memory',
      id,
      viewer: { all: true, agentId: null, asNamespace: null },
      now: instantFromMs(clock.nowMs()),
    });
    // The query also answers to the beginning of an id.
    if (found.ok && found.value.memory.id === id) namespaces.push(found.value.memory.namespace);
  }
  return namespaces;
}
