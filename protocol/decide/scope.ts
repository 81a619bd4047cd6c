import { mayHold } from '../mesh/peer.js';
import type { SubjectPlace, VerifiedOperation } from '../mesh/store-terms.js';
import { includes } from '../version-vector.js';
import { type ReadRequest, subjectPlaces } from './decision.js';

/**
 * True for an operation that lies in the scope of its maker and changes a memory that lies outside. Only operations of
 * peers with a scope cost a look. Where a memory lies is asked of what the operation has seen of it, not of the row:
 * somebody else may have moved it meanwhile, and nodes that hear of both in another order must come to the same verdict.
 * What it has seen and is not here yet lay inside, or an honest maker could not have seen it.
 *
 * A link is where its header says: it changes neither of its ends.
 */
export function* reachesOut(operation: VerifiedOperation): Generator<ReadRequest, boolean, never> {
  const { scope, kind, subject, seen, origin, seq } = operation;
  if (scope === null || kind === 'link' || kind === 'unlink') return false;
  const all = yield* subjectPlaces(subject);
  // What was built on it says nothing of what it was allowed to do.
  const places = all.filter((place) => !includes({ ...place.seen, [place.origin]: place.seq }, origin, seq));
  const known = places.filter((place) => includes(seen, place.origin, place.seq));
  // Whoever has seen nothing of a memory that there is means one of his own, which nobody else can have put elsewhere.
  const meant = known.length > 0 ? latest(known) : places;
  return meant.some(({ namespace }) => !mayHold({ allowedNamespaces: scope }, namespace));
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
