import { type Reading, read } from '../decide/reads.js';
import type { Kind } from '../kinds/kind.js';
import { mayHold } from '../mesh/peer.js';
import type { VerifiedOperation } from '../mesh/wire.js';
import { includes } from '../version-vector.js';
import { maximal } from './versions.js';

/**
 * True for an operation that lies in the scope of its maker and changes a subject that lies outside. Only operations of
 * peers with a scope cost a look. Where a subject lies is asked of the operations that this one has seen, not of the row:
 * another node may have moved it meanwhile, and nodes that hear of both in another order must come to the same verdict.
 * What it has seen and is not here yet lay inside, or an honest maker could not have seen it.
 *
 * A subject whose kind does not move is where its header says.
 */
export function* reachesOut(operation: VerifiedOperation, kind: Kind): Reading<boolean> {
  const { scope, subject: id, seen, origin, seq } = operation;
  if (scope === null || !kind.movable) return false;
  const isOutside = (namespace: string) => !mayHold({ allowedNamespaces: scope }, namespace);
  const subject = { kind: kind.name, id };
  // Nearly all were never outside: that is soon seen, and a subject may have thousands of operations.
  if (!(yield* read('subject-namespaces', subject)).some(isOutside)) return false;
  const all = yield* read('subject-places', subject);
  // What was built on it says nothing about what it was allowed to do.
  const places = all.filter((place) =>
    place.origin === origin ? place.seq < seq : !includes(place.seen, origin, seq),
  );
  const known = places.filter((place) => includes(seen, place.origin, place.seq));
  // A maker that has seen no operation of the subject means one of its own, which no other node can have moved.
  const meant = known.length > 0 ? maximal(known) : places;
  return meant.some(({ namespace }) => isOutside(namespace));
}
