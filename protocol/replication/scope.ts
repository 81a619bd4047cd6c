import { type Reading, read } from '../decide/reads.js';
import type { Kind } from '../kinds/kind.js';
import { mayHold } from '../mesh/peer.js';
import type { VerifiedOperation } from '../mesh/wire.js';
import { includes } from '../version-vector.js';
import { maximal } from './versions.js';

/**
 * True for an operation that lies in its maker's scope and changes a subject outside it. Only operations of peers with
 * a scope need this check. It asks the operations that this one has seen, not the row, for the subject's namespace:
 * another node may have moved the subject meanwhile, and nodes that receive both operations in another order must reach
 * the same verdict. An operation that it has seen and that is not here yet lay inside the scope, or an honest maker
 * could not have seen it.
 *
 * A subject whose kind does not move has the namespace of its header.
 */
export function* reachesOut(operation: VerifiedOperation, kind: Kind): Reading<boolean> {
  const { scope, subject: id, seen, origin, seq } = operation;
  if (scope === null || !kind.movable) return false;
  const isOutside = (namespace: string) => !mayHold({ allowedNamespaces: scope }, namespace);
  const subject = { kind: kind.name, id };
  // Most subjects were never outside: that check is quick, and a subject may have thousands of operations.
  if (!(yield* read('subject-namespaces', subject)).some(isOutside)) return false;
  const all = yield* read('subject-places', subject);
  // Operations that build on it do not say what it was allowed to do.
  const places = all.filter((place) =>
    place.origin === origin ? place.seq < seq : !includes(place.seen, origin, seq),
  );
  const known = places.filter((place) => includes(seen, place.origin, place.seq));
  // A maker that has seen no operation of the subject means a subject of its own, which no other node can have moved.
  const meant = known.length > 0 ? maximal(known) : places;
  return meant.some(({ namespace }) => isOutside(namespace));
}
