import { mayHold } from '../../../protocol/mesh/peer.js';
import type { SubjectPlace, VerifiedOperation } from '../../../protocol/mesh/store-terms.js';
import { peerOfOrigin } from '../../../protocol/mesh/wire.js';
import type { Clock } from '../../../protocol/seams.js';
import { instantFromMs } from '../../../protocol/time.js';
import { includes } from '../../../protocol/version-vector.js';
import type { Store } from '../../../storage/port.js';
import type { Origins } from './verify-operations.js';

interface GuardParts {
  readonly store: Store;
  readonly origins: Origins;
  readonly clock: Clock;
}

/**
 * Keeps a peer with a scope from reaching beyond it through a subject: an operation that lies in its scope but changes a
 * memory that lies outside counts as a stub. Only operations of such peers cost a look.
 *
 * Where a memory lies is asked of what the operation has seen of it, not of the row: somebody else may have moved it
 * meanwhile, and nodes that hear of both in another order must come to the same verdict.
 */
export async function guardScopes(
  operations: readonly VerifiedOperation[],
  parts: GuardParts,
): Promise<readonly VerifiedOperation[]> {
  const guarded: VerifiedOperation[] = [];
  for (const operation of operations) {
    const scope = parts.origins.scopeOf(peerOfOrigin(operation.origin));
    const inside =
      operation.payload === null ||
      scope.allowedNamespaces === null ||
      (await namespacesOf(operation, parts)).every((namespace) => mayHold(scope, namespace));
    guarded.push(inside ? operation : { ...operation, payload: null });
  }
  return guarded;
}

async function namespacesOf(operation: VerifiedOperation, parts: GuardParts): Promise<readonly string[]> {
  const { kind, subject, seen } = operation;
  if (kind === 'link' || kind === 'unlink') return endsOf(subject, parts);
  const places = await parts.store.query({ kind: 'subject-places', subject });
  if (!places.ok) throw new Error(`the store did not say where a memory lies: ${places.error.code}`);
  const known = places.value.filter((place) => includes(seen, place.origin, place.seq));
  // Whoever has seen nothing of a memory that there is means one of his own, which nobody else can have put elsewhere.
  return (known.length > 0 ? latest(known) : places.value).map(({ namespace }) => namespace);
}

/** Those that none of the others has seen. */
function latest(places: readonly SubjectPlace[]): readonly SubjectPlace[] {
  const isFollowed = (place: SubjectPlace) =>
    places.some(
      (other) =>
        other !== place &&
        (includes(other.seen, place.origin, place.seq) ||
          (other.origin === place.origin && other.seq > place.seq)),
    );
  return places.filter((place) => !isFollowed(place));
}

/** The namespaces of both ends of a link. */
async function endsOf(subject: string, { store, clock }: GuardParts): Promise<readonly string[]> {
  const namespaces: string[] = [];
  for (const id of subject.split('|').slice(0, 2)) {
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
