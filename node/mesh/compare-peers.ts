import { compareDigests } from '../../protocol/mesh/compare-digests.js';
import { namespacesOf } from '../../protocol/mesh/digest.js';
import type { Peer } from '../../protocol/mesh/peer.js';
import type { PeerReply, PeerTransport } from '../../protocol/mesh/transport.js';
import type { ReadDigestsAnswer } from '../../protocol/replication/queries.js';
import type { Clock } from '../../protocol/seams.js';
import { instantFromMs } from '../../protocol/time.js';
import { API_PREFIX } from '../bindings/operation-route.js';
import { parseJson } from './forming/mesh-folder.js';
import { type ComparedPeer, DIGESTS_ANSWER, DIGESTS_PATH } from './mesh-answers.js';
import type { SignRequest } from './roster-exchange.js';

const TIMEOUT_MS = 3000;

export interface CompareParts {
  /** All peers of this node. */
  readonly peers: readonly Peer[];
  /** What this node may hold. */
  readonly scope: Pick<Peer, 'allowedNamespaces'>;
  readonly digests: ReadDigestsAnswer;
  readonly transport: PeerTransport;
  readonly sign: SignRequest;
  readonly clock: Clock;
}

/** Asks every member for its digests and compares them with this node's, over what both may hold. */
export function comparePeers(parts: CompareParts): Promise<readonly ComparedPeer[]> {
  return Promise.all(parts.peers.map((peer) => compare(peer, parts)));
}

async function compare(peer: Peer, parts: CompareParts): Promise<ComparedPeer> {
  const about = { peer_id: peer.peerId, url: peer.url, state: peer.state };
  const silent = { ...about, reachable: false, equal: null, differing: [] };
  if (peer.state === 'departed') return { ...silent, problem: null };
  if (peer.url === null) return { ...silent, problem: 'the peer has no address and cannot be asked' };
  const to = encodeURIComponent(peer.peerId);
  const query = `to=${to}&at=${encodeURIComponent(instantFromMs(parts.clock.nowMs()))}`;
  const unsigned = { method: 'GET', path: `${API_PREFIX}${DIGESTS_PATH}`, query, body: null } as const;
  const reply = await parts.transport.send(peer, { ...unsigned, headers: parts.sign(unsigned) }, TIMEOUT_MS);
  const answer = DIGESTS_ANSWER.safeParse(jsonOf(reply));
  if (!answer.success) return { ...silent, problem: problemOf(reply) };
  const { equal, differing } = compareDigests(parts.digests.digests, answer.data.digests, parts.scope, peer);
  return { ...about, reachable: true, equal, differing: namespacesOf(differing), problem: null };
}

const jsonOf = (reply: PeerReply): unknown =>
  reply.kind === 'answer' && reply.status === 200 ? parseJson(new TextDecoder().decode(reply.body)) : null;

function problemOf(reply: PeerReply): string {
  if (reply.kind !== 'answer') return `${reply.kind}: ${reply.message}`;
  return reply.status === 200 ? 'the peer answered something else' : `the peer answered ${reply.status}`;
}
