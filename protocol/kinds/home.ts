import type { PeerId, SubjectId } from '../base/meanings.js';
import type { Version } from './version.js';

/**
 * Subjects that only their home node may change (design: kinds, "Two things need one decider"). The id names the node
 * that made the subject, so every node knows the home without a look-up: `<peer id>/<name>`. Adoption
 * (adoption-kind.ts) hands the subjects of a lost home to another node, under a higher home number, which every version
 * carries.
 */

/** The id of a subject that a node makes. */
export function homeId(peerId: PeerId, name: string): SubjectId {
  return `${peerId}/${name}`;
}

/** The node that made a subject. */
export function makerOf(id: SubjectId): PeerId {
  const slash = id.indexOf('/');
  return slash < 0 ? String(id) : id.slice(0, slash);
}

/** The name of a subject without its maker. */
export function nameOf(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

/** The member of images and removals that holds the number of the home that wrote them: 0 for the maker. */
export const HOME_NUMBER = 'home_number';

/** The number of the home that wrote a version. */
export function homeNumberOf(version: Pick<Version, 'image' | 'removal'>): number {
  return numberIn(version.image ?? version.removal?.facts ?? {});
}

/** The home number that an image or the facts of a removal hold. */
export function numberIn(said: object): number {
  const number = (said as { readonly home_number?: unknown }).home_number;
  return typeof number === 'number' ? number : 0;
}
