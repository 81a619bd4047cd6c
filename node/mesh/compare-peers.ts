import { compareBuckets, compareNamespaces } from '../../actors/mesh/compare-namespaces.js';
import type { PeerClient } from '../../actors/mesh/peer-client.js';
import { PeerQuestions } from '../../actors/mesh/peer-questions.js';
import { namespacesOf } from '../../protocol/log/digest.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Store } from '../../storage/port.js';
import type { ComparedPeer } from './mesh-answers.js';

/** How long a peer may take to answer one question of a comparison that somebody waits for. */
export const COMPARE_TIMEOUT_MS = 3000;

export interface CompareParts {
  readonly store: Store;
  readonly client: Pick<PeerClient, 'ask'>;
}

/** Compares the digests of every member with this node's, over what both may hold. */
export function comparePeers(peers: readonly Peer[], parts: CompareParts): Promise<readonly ComparedPeer[]> {
  return Promise.all(peers.map((peer) => compare(peer, parts)));
}

async function compare(peer: Peer, parts: CompareParts): Promise<ComparedPeer> {
  const about = { peer_id: peer.peerId, url: peer.url, state: peer.state };
  const silent = { ...about, reachable: false, equal: null, differing: [] };
  if (peer.state === 'departed') return { ...silent, problem: null };
  if (peer.url === null) return { ...silent, problem: 'the peer has no address and cannot be asked' };
  const questions = new PeerQuestions(peer, { ...parts, stopping: () => false });
  const buckets = await compareBuckets(questions);
  const compared = buckets === null ? null : await compareNamespaces(questions, buckets);
  if (compared === null) return { ...silent, problem: questions.problem };
  const { differing } = compared;
  return {
    ...about,
    reachable: true,
    equal: differing.length === 0,
    differing: namespacesOf(differing),
    problem: null,
  };
}
