import type { Kind } from './kind.js';
import { isLater, type LiveVersion } from './version.js';

/**
 * The join of two values of a member: commutative, associative and idempotent, so every node reaches the same value in
 * any order of arrival.
 */
export type Join<T> = (a: T, b: T) => T;

/** The later of two instants, or the greater of two texts. */
export const latest: Join<string> = (a, b) => {
  if (a >= b) return a;
  return b;
};
/** The earlier of two instants, or the lesser of two texts. */
export const earliest: Join<string> = (a, b) => {
  if (a <= b) return a;
  return b;
};
/** The later of two instants; null means never and is later than all others. */
export const latestOrNever: Join<string | null> = (a, b) => (a === null || b === null ? null : latest(a, b));
/** The earlier of two instants; null means not yet and gives way to every other. */
export const earliestKnown: Join<string | null> = (a, b) => {
  if (a === null || b === null) return a ?? b;
  return earliest(a, b);
};
export const max: Join<number> = (a, b) => Math.max(a, b);
/** All texts of both lists, in order, each once. */
export const union: Join<readonly string[]> = (a, b) => [...new Set([...a, ...b])].sort();
/** The value that is later in a list; a value outside the list comes before all others. */
export const rank =
  <T>(...order: readonly T[]): Join<T> =>
  (a, b) =>
    order.indexOf(a) >= order.indexOf(b) ? a : b;

/** Joins by member. Members without a join form one group and follow the latest edit. */
export type Joins<I> = { readonly [K in keyof I]?: Join<I[K]> };

/** A merge of concurrent images, member by member. */
export function mergeBy<I extends object>(joins: Joins<I>): Kind<I>['merge'] {
  const joined = Object.entries(joins) as [keyof I, Join<I[keyof I]>][];
  return (versions, winner) => {
    const image = { ...winner.image };
    for (const [member, join] of joined) {
      image[member] = versions.map((version) => version.image[member]).reduce(join);
    }
    return image;
  };
}

/** The version with the latest edit; of several versions with that edit, the latest version. */
export function latestEdit<I extends object>(
  kind: Pick<Kind<I>, 'editOf'>,
  versions: readonly LiveVersion<I>[],
): LiveVersion<I> {
  return versions.reduce((best, version) => {
    const [edit, other] = [kind.editOf(version), kind.editOf(best)];
    if (isLater(edit, other)) return version;
    return !isLater(other, edit) && isLater(version, best) ? version : best;
  });
}
