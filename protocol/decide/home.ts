import { ADOPTIONS_MAX } from '../base/limits.js';
import type { PeerId } from '../base/meanings.js';
import { type Failure, failure } from '../base/result.js';
import { HOME_NUMBER, homeId, homeNumberOf, makerOf, numberIn } from '../kinds/home.js';
import type { Kind } from '../kinds/kind.js';
import type { Version } from '../kinds/version.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import { type Adoption, adoptionKind } from './adoption-kind.js';
import type { DecisionContext } from './deciding.js';
import type { Mutation } from './mutations.js';
import { ownOrigin, type Reading, recordsWith, subjectRow } from './reads.js';

/** The node that may change a subject, and its number among the homes of the subject: 0 for the maker. */
export interface Home {
  readonly peerId: PeerId;
  readonly number: number;
}

const makerHome = (id: string): Home => ({ peerId: makerOf(id), number: 0 });

/** The home of a subject: its maker, or the node that last adopted the maker's subjects. */
export function* homeOf(id: string): Reading<Home> {
  const maker = makerOf(id);
  const adoptions = yield* adoptionsOf(maker);
  return adoptions.reduce<Home>(
    (home, { home: peerId, number }) => (isLaterHome({ peerId, number }, home) ? { peerId, number } : home),
    makerHome(id),
  );
}

/** The image with the number of the current home of its subject, which a home writes into every version. */
export function* numbered<I extends object>(id: string, image: I): Reading<I> {
  const { number } = yield* homeOf(id);
  return Object.assign({}, image, { [HOME_NUMBER]: number });
}

const isLaterHome = (a: Home, b: Home): boolean =>
  a.number !== b.number ? a.number > b.number : a.peerId > b.peerId;

/** All adoptions of the subjects that a node made. */
export function* adoptionsOf(maker: string): Reading<readonly Adoption[]> {
  return yield* adoptionsBy('peer_id', maker);
}

export function* adoptionsBy(member: 'peer_id' | 'home', value: string): Reading<readonly Adoption[]> {
  const asked = { kind: adoptionKind.name, member, value, limit: ADOPTIONS_MAX };
  const rows = yield* recordsWith(asked);
  return rows.map(({ image }) => image as Adoption);
}

/**
 * True when the author of a version may write the subject, as the home that the version names. The author's own log
 * decides: its adoption comes before its writes as the home. So every node reaches the same verdict.
 */
export function* mayWrite(kind: Kind, id: string, version: Version): Reading<boolean> {
  if (kind.lasting && version.removal !== null) return false;
  if (kind.writer === 'anybody') return true;
  const author = peerOfOrigin(version.origin);
  const number = homeNumberOf(version);
  const maker = makerOf(id);
  if (number === 0 || kind.writer === 'maker') return author === maker;
  const adoption = { kind: adoptionKind.name, id: homeId(author, `${maker}/${number}`) };
  const row = yield* subjectRow(adoption);
  if (row === null) return false;
  // The order in the author's log decides, not the order in which this node heard of the two.
  const { origin, origin_seq: seq } = row.stamp;
  return origin !== version.origin || seq < version.seq;
}

/**
 * Refuses a write of this node to a subject of another home, or under an older home number. NOT_HOME names the home in
 * its details, so that the caller can forward the request.
 */
export function* homeProblem(
  mutations: readonly Mutation[],
  { kinds }: DecisionContext,
): Reading<Failure | null> {
  for (const mutation of mutations) {
    if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') continue;
    const kind: Kind = kinds.of(mutation.kind);
    if (kind.writer === 'anybody') continue;
    const self = peerOfOrigin((yield* ownOrigin()).origin);
    const home = kind.writer === 'maker' ? makerHome(mutation.id) : yield* homeOf(mutation.id);
    if (home.peerId !== self) return notHome(mutation.id, home);
    const said = mutation.mutation === 'write' ? mutation.image : mutation.facts;
    const number = numberIn(said);
    if (number !== home.number) throw new Error(`a write of ${mutation.id} lacks home number ${home.number}`);
  }
  return null;
}

/** The answer to a request that only the home of a subject may decide. */
export function notHome(id: string, { peerId, number }: Home): Failure {
  const message = `only the home node ${peerId} may change this; send the request there`;
  return failure('NOT_HOME', message, { subject: id, home: peerId, home_number: number });
}
