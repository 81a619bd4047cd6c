import { mayHold } from '../mesh/peer.js';
import type { VerifiedOperation } from '../mesh/store-terms.js';
import { maximal } from '../replica.js';
import { includes } from '../version-vector.js';
import type { ReadRequest } from './decision.js';
import { subjectNamespaces, subjectPlaces } from './log-reads.js';

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
  const isOutside = (namespace: string) => !mayHold({ allowedNamespaces: scope }, namespace);
  // Nearly all were never outside: that is soon seen, and a memory may have thousands of operations.
  if (!(yield* subjectNamespaces(subject)).some(isOutside)) return false;
  const all = yield* subjectPlaces(subject);
  // What was built on it says nothing of what it was allowed to do.
  const places = all.filter((place) =>
    place.origin === origin ? place.seq < seq : !includes(place.seen, origin, seq),
  );
  const known = places.filter((place) => includes(seen, place.origin, place.seq));
  // Whoever has seen nothing of a memory that there is means one of his own, which nobody else can have put elsewhere.
  const meant = known.length > 0 ? maximal(known) : places;
  return meant.some(({ namespace }) => isOutside(namespace));
}
