import { APPROVALS_MAX } from '../base/limits.js';
import { includes } from '../base/version-vector.js';
import { type Reading, recordsWith, subjectRow } from '../decide/reads.js';
import type { About, Kind } from '../kinds/kind.js';
import { isWhole, mayHold, mayHoldBelow } from '../log/scope.js';
import type { VerifiedOperation } from '../log/wire-operation.js';
import { pendingKind } from '../policies/pending-kind.js';
import { namespacesOf, placesOf } from './reads.js';
import { maximal } from './versions.js';

/**
 * True for an operation whose header lies in its maker's scope and whose content does not. Only operations of peers
 * with a scope need this check. Four things are looked at: whether the kind is about the whole mesh, whether it decides
 * about the namespaces below its own, where the subject lies, and where the memory or action lies that it is about.
 */
export function* reachesOut(operation: VerifiedOperation, kind: Kind): Reading<boolean> {
  const { scope, namespace, subject } = operation;
  if (isWhole(scope)) return false;
  const peer = { allowedNamespaces: scope };
  if (kind.reach === 'everybody') return true;
  if (kind.governsBelow && !mayHoldBelow(peer, namespace)) return true;
  const isOutside = (place: string) => !mayHold(peer, place);
  if (yield* liesOutside(operation, kind, isOutside)) return true;
  const about = kind.about(subject);
  if (about.length === 0) return false;
  // A subject that is known here was judged before.
  if ((yield* placesOf({ kind: kind.name, id: subject })).length > 0) return false;
  for (const each of about) if (!(yield* isInside(each, operation, isOutside))) return true;
  return false;
}

/**
 * True when the subject lies outside. It asks the operations that this one has seen, not the row, for the subject's
 * namespace: another node may have moved the subject meanwhile, and nodes that receive both operations in another order
 * must reach the same verdict. An operation that it has seen and that is not here yet lay inside the scope, or an honest
 * maker could not have seen it.
 */
function* liesOutside(
  { subject: id, seen, origin, seq }: VerifiedOperation,
  kind: Kind,
  isOutside: (namespace: string) => boolean,
): Reading<boolean> {
  const subject = { kind: kind.name, id };
  // Most subjects were never outside: that check is quick, and a subject may have thousands of operations.
  if (!(yield* namespacesOf(subject)).some(isOutside)) return false;
  const all = yield* placesOf(subject);
  // Operations that build on it do not say what it was allowed to do.
  const places = all.filter((place) =>
    place.origin === origin ? place.seq < seq : !includes(place.seen, origin, seq),
  );
  const known = places.filter((place) => includes(seen, place.origin, place.seq));
  // A maker that has seen no operation of the subject means a subject of its own, which no other node can have moved.
  const meant = known.length > 0 ? maximal(known) : places;
  return meant.some(({ namespace }) => isOutside(namespace));
}

/**
 * True when what a record is about is known here and lies inside the scope, or lay there once. What is not known may lie
 * anywhere; comparing rows with peers brings the operation back when it is known.
 */
function* isInside(
  { kind, id }: About,
  { namespace }: VerifiedOperation,
  isOutside: (namespace: string) => boolean,
): Reading<boolean> {
  if (kind === 'pending') {
    const asked = { kind: pendingKind.name, member: 'pending_id', value: id, limit: APPROVALS_MAX };
    const actions = yield* recordsWith(asked);
    return actions.length > 0 && actions.every((action) => action.namespace === namespace);
  }
  const subject = { kind, id };
  const places = yield* placesOf(subject);
  if (places.length > 0) return places.some((place) => !isOutside(place.namespace));
  // A row from before the log.
  const row = yield* subjectRow(subject);
  return row !== null && !isOutside(row.namespace);
}
