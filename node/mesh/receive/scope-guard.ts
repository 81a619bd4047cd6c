import { mayHold } from '../../../protocol/mesh/peer.js';
import type { SubjectPlace, VerifiedOperation } from '../../../protocol/mesh/store-terms.js';
import { peerOfOrigin } from '../../../protocol/mesh/wire.js';
import { failed, ok, type Result } from '../../../protocol/result.js';
import { includes } from '../../../protocol/version-vector.js';
import type { Store } from '../../../storage/port.js';
import type { Origins } from './verify-operations.js';

interface GuardParts {
  readonly store: Store;
  readonly origins: Origins;
}

/**
 * Keeps a peer with a scope from reaching beyond it through a subject: an operation that lies in its scope but changes a
 * memory that lies outside counts as a stub. Only operations of such peers cost a look.
 *
 * Where a memory lies is asked of what the operation has seen of it, not of the row: somebody else may have moved it
 * meanwhile, and nodes that hear of both in another order must come to the same verdict. Fails where the store does not
 * say where a memory lies: nothing is taken on trust.
 */
export async function guardScopes(
  operations: readonly VerifiedOperation[],
  parts: GuardParts,
): Promise<Result<readonly VerifiedOperation[]>> {
  const guarded: VerifiedOperation[] = [];
  for (const operation of operations) {
    const scope = parts.origins.scopeOf(peerOfOrigin(operation.origin));
    if (operation.payload === null || scope.allowedNamespaces === null) {
      guarded.push(operation);
      continue;
    }
    const namespaces = await namespacesOf(operation, parts);
    if (!namespaces.ok) return namespaces;
    const inside = namespaces.value.every((namespace) => mayHold(scope, namespace));
    guarded.push(inside ? operation : { ...operation, payload: null });
  }
  return ok(guarded);
}

async function namespacesOf(
  operation: VerifiedOperation,
  parts: GuardParts,
): Promise<Result<readonly string[]>> {
  const { kind, subject, seen } = operation;
  if (kind === 'link' || kind === 'unlink') return endsOf(subject, parts);
  const places = await parts.store.query({ kind: 'subject-places', subject });
  if (!places.ok) return failed(places.error);
  const known = places.value.filter((place) => includes(seen, place.origin, place.seq));
  // Whoever has seen nothing of a memory that there is means one of his own, which nobody else can have put elsewhere.
  return ok((known.length > 0 ? latest(known) : places.value).map(({ namespace }) => namespace));
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
async function endsOf(link: string, { store }: GuardParts): Promise<Result<readonly string[]>> {
  const namespaces: string[] = [];
  for (const subject of link.split('|').slice(0, 2)) {
    const places = await store.query({ kind: 'subject-places', subject });
    if (!places.ok) return failed(places.error);
    namespaces.push(...latest(places.value).map(({ namespace }) => namespace));
  }
  return ok(namespaces);
}
