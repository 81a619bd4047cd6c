import { HOME_NUMBER_MAX } from '../base/limits.js';
import type { PeerId } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { type Adoption, adoptionKind, MESH_NAMESPACE } from '../decide/adoption-kind.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { adoptionsBy, homeOf } from '../decide/home.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import { ownOrigin, type Reading } from '../decide/reads.js';
import { putRecord } from '../decide/record-writes.js';
import { homeId } from '../kinds/home.js';
import { NO_REST } from '../kinds/payload.js';
import { isPeerId } from '../log/peer-id.js';
import { peerOfOrigin } from '../log/wire-operation.js';

/** Makes this node the home of all subjects of a lost node, and of the subjects that the lost node had adopted. */
export interface AdoptPeer {
  readonly kind: 'adopt-peer';
  readonly peerId: PeerId;
  /** The caller who asked for it, for the audit chain. */
  readonly by: string;
}

/** The new home, and the makers whose subjects it took over, with their home numbers. */
export interface AdoptPeerOutcome {
  readonly home: PeerId;
  readonly adopted: readonly { readonly peer_id: PeerId; readonly number: number }[];
}

/**
 * Adopts the subjects of a node. CONFLICT when this node is their home already. The former home loses against every
 * later write here, whenever it returns, because each write carries the higher home number.
 */
function* decideAdoptPeer({ peerId, by }: AdoptPeer, context: DecisionContext): Deciding<AdoptPeerOutcome> {
  if (!isPeerId(peerId)) {
    const message = `"${peerId}" is not a peer id; "mesh status" shows the peer ids of the mesh`;
    return fail('VALIDATION_FAILED', message, { fields: ['peer_id'] });
  }
  const { origin } = yield* ownOrigin();
  const self = peerOfOrigin(origin);
  const makers = yield* makersOf(peerId, self);
  if (makers.size === 0)
    return fail('CONFLICT', `this node is already the home of the subjects of ${peerId}`);
  if (Math.max(...makers.values()) > HOME_NUMBER_MAX) {
    return fail(
      'CONFLICT',
      `the subjects of ${peerId} have changed their home too often to be adopted again`,
    );
  }
  const mutations: Mutation[] = [];
  const adopted: { peer_id: string; number: number }[] = [];
  for (const [maker, number] of makers) {
    adopted.push({ peer_id: maker, number });
    const at = { adopted_at: context.now, adopted_by: by };
    const image: Adoption = { peer_id: maker, home: self, number, ...at, rest: NO_REST };
    const id = homeId(self, `${maker}/${number}`);
    mutations.push(yield* putRecord(adoptionKind, { id, namespace: MESH_NAMESPACE }, image));
  }
  const event = { agentId: by, type: 'mesh.adopted', payload: { peer: peerId, home: self, adopted } };
  return decided({ home: self, adopted }, [...mutations, appendAudit({ event })]);
}

/** The makers whose subjects a node is the home of, each with the number of the next home. */
function* makersOf(peerId: string, self: string): Reading<ReadonlyMap<string, number>> {
  const held = yield* adoptionsBy('home', peerId);
  const makers = new Map<string, number>();
  for (const maker of new Set([peerId, ...held.map(({ peer_id }) => peer_id)])) {
    const home = yield* homeOf(homeId(maker, ''));
    if (home.peerId === self) continue;
    // The subjects of the lost node, and the subjects whose home it is now.
    if (maker === peerId || home.peerId === peerId) makers.set(maker, home.number + 1);
  }
  return makers;
}

export const adoptPeerCommand = defineCommand({
  kind: 'adopt-peer',
  decide: decideAdoptPeer,
  gate: 'operator',
});
