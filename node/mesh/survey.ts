import { compareDigests } from '../../protocol/mesh/compare-digests.js';
import type { Peer } from '../../protocol/mesh/peer.js';
import { peerOfStatement } from '../../protocol/mesh/roster-statement.js';
import type { PeerReply } from '../../protocol/mesh/transport.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import { API_PREFIX } from '../http/operation-route.js';
import { parseJson } from './forming/mesh-folder.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { DIGESTS_ANSWER, DIGESTS_PATH, type MeshStatusAnswer, STATUS_PATH } from './mesh-terms.js';
import type { SignRequest } from './roster-exchange.js';
import { UndiciTransport } from './undici-transport.js';

const TIMEOUT_MS = 3000;

/** How a peer's state compares with this node's. */
export interface SurveyedPeer {
  readonly peer_id: string;
  readonly url: string | null;
  readonly state: 'member' | 'departed';
  readonly reachable: boolean;
  /** Null where the peer did not answer. */
  readonly equal: boolean | null;
  /** Namespaces that differ. */
  readonly differing: readonly string[];
  readonly problem: string | null;
}

export interface Survey {
  readonly peer_id: string;
  readonly mesh_id: string | null;
  /** What the running daemon of this node says; null where none answers. */
  readonly daemon: MeshStatusAnswer | null;
  readonly namespaces: number;
  readonly rows: number;
  readonly peers: readonly SurveyedPeer[];
}

export interface SurveyParts extends StateSeams {
  readonly home: string;
  readonly peerId: string;
  readonly store: Store;
  readonly sign: SignRequest;
}

/** Asks this node's daemon and every member how they stand, from the command line's own process. */
export async function surveyMesh(parts: SurveyParts): Promise<Result<Survey>> {
  const state = new MeshState(parts.home, parts);
  state.reload();
  const own = await parts.store.query({ kind: 'read-digests' });
  if (!own.ok) return failed(own.error);
  const formed = state.formed;
  const facts = { peer_id: parts.peerId, mesh_id: formed?.facts.mesh_id ?? null };
  const counts = { namespaces: Object.keys(own.value.namespaces).length, rows: own.value.rows };
  if (formed === null) return ok({ ...facts, daemon: null, ...counts, peers: [] });
  const transport = new UndiciTransport({
    scheduler: parts.scheduler,
    trustOf: (peer) => ({
      client: formed.pair,
      authorities: [formed.authority],
      names: 'peer',
      fingerprints: peer.fingerprints,
    }),
  });
  const known = [...formed.statements.values()].map(({ statement }) => peerOfStatement(statement));
  const us = known.find(({ peerId }) => peerId === parts.peerId);
  const get = (peer: Peer, path: string) => {
    const unsigned = { method: 'GET', path: `${API_PREFIX}${path}`, query: '', body: null } as const;
    return transport.send(peer, { ...unsigned, headers: parts.sign(unsigned) }, TIMEOUT_MS);
  };
  try {
    const [daemon, ...peers] = await Promise.all([
      us === undefined ? null : get(us, STATUS_PATH).then(statusOf),
      ...known
        .filter(({ peerId }) => peerId !== parts.peerId)
        .map(async (peer): Promise<SurveyedPeer> => {
          const about = { peer_id: peer.peerId, url: peer.url, state: peer.state };
          const silent = { ...about, reachable: false, equal: null, differing: [] };
          if (peer.state === 'departed') return { ...silent, problem: null };
          const reply = await get(peer, DIGESTS_PATH);
          const answer = DIGESTS_ANSWER.safeParse(jsonOf(reply));
          if (!answer.success) return { ...silent, problem: problemOf(reply) };
          const all = { allowedNamespaces: null };
          const { equal, differing } = compareDigests(
            own.value.namespaces,
            answer.data.namespaces,
            us ?? all,
            peer,
          );
          return { ...about, reachable: true, equal, differing, problem: null };
        }),
    ]);
    return ok({
      ...facts,
      daemon: daemon as MeshStatusAnswer | null,
      ...counts,
      peers: peers as SurveyedPeer[],
    });
  } finally {
    await transport.close();
  }
}

const jsonOf = (reply: PeerReply): unknown =>
  reply.kind === 'answer' && reply.status === 200 ? parseJson(new TextDecoder().decode(reply.body)) : null;

const statusOf = (reply: PeerReply) => jsonOf(reply) as MeshStatusAnswer | null;

function problemOf(reply: PeerReply): string {
  if (reply.kind !== 'answer') return `${reply.kind}: ${reply.message}`;
  return reply.status === 200 ? 'it answered something else' : `it answered ${reply.status}`;
}
