import { HOME_NUMBER_MAX } from '../base/limits.js';
import type { Instant, PeerId } from '../base/meanings.js';
import { homeId } from '../kinds/home.js';
import { isCount, isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';

/**
 * Records that a node took over the subjects of a lost node (design: kinds). Its id is `<new home>/<lost
 * peer>/<number>`.
 */
export interface Adoption {
  /** The node whose subjects move. */
  readonly peer_id: PeerId;
  /** The node that is their home from now on. */
  readonly home: PeerId;
  /** The home number, greater than the number of every home before. */
  readonly number: number;
  readonly adopted_at: Instant;
  readonly adopted_by: string;
  readonly rest: Rest;
}

/** A namespace that holds no memories; its subjects concern the whole mesh. */
export const MESH_NAMESPACE = '_mesh';

/** A part of an id, which names no further part. */
const isPart = (value: unknown): boolean => isText(value) && !value.includes('/');
const isHomeNumber = (value: unknown): boolean =>
  isCount(value) && value !== 0 && (value as number) <= HOME_NUMBER_MAX;

export const adoptionKind = recordKind<Adoption>({
  name: 'adoption',
  members: {
    peer_id: { accepts: isPart, default: '' },
    home: { accepts: isPart, default: '' },
    // 0 is the number of the maker.
    number: { accepts: isHomeNumber, default: 1 },
    adopted_at: { accepts: isText, default: '' },
    adopted_by: { accepts: isText, default: '' },
  },
  idOf: ({ peer_id, number, home }) => homeId(home, `${peer_id}/${number}`),
  namespaceOf: () => MESH_NAMESPACE,
  namespaceOfId: () => MESH_NAMESPACE,
  // A home that could be given back would be lent for a moment, with all that waits there.
  lasting: true,
  losers: 'dropped',
  reach: 'everybody',
  // Only the node itself can write that it took subjects over, even after another node took over its own.
  writer: 'maker',
  superseded: 'kept',
  exported: false,
  indexes: [
    { name: 'adoption_of', members: ['peer_id'] },
    { name: 'adoption_by', members: ['home'] },
  ],
});
