import { failed, ok, type Result } from '../../protocol/base/result.js';
import { heldNamespaces } from '../../protocol/log/digest.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { peerOfStatement } from '../../protocol/peers/roster-statement.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { askDaemon } from './ask-daemon.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { type ComparedPeer, type MeshStatusAnswer, STATUS_PATH } from './mesh-answers.js';

export interface StatusResult {
  readonly peer_id: string;
  readonly mesh_id: string | null;
  /** Names of nodes, this one included, by peer id. */
  readonly names: ReadonlyMap<string, string>;
  /** The answer of this node's running daemon; null when it does not run. */
  readonly daemon: MeshStatusAnswer | null;
  readonly namespaces: number;
  readonly rows: number;
  readonly peers: readonly ComparedPeer[];
}

export interface StatusQueryParts extends StateSeams {
  readonly settings: Settings;
  readonly peerId: string;
  readonly store: Store;
}

/**
 * The state of this node and its peers, from its daemon, which asks them all. While the daemon is down the peers are
 * not asked.
 */
export async function queryMeshStatus(parts: StatusQueryParts): Promise<Result<StatusResult>> {
  const state = new MeshState(parts.settings.home, parts);
  state.reload();
  const { formed } = state;
  const daemon = (await askDaemon(
    { ...parts, formed },
    STATUS_PATH,
    'compare=true',
  )) as MeshStatusAnswer | null;
  const own = await parts.store.query({ kind: 'read-digests' });
  if (!own.ok) return failed(own.error);
  const facts = {
    peer_id: parts.peerId,
    mesh_id: formed?.facts.mesh_id ?? null,
    names: new Map(
      [...(formed?.statements.values() ?? [])].flatMap(({ statement: { peer_id: id, name } }) =>
        name === undefined ? [] : [[id, name]],
      ),
    ),
    daemon,
    namespaces: heldNamespaces(own.value.digests).length,
    rows: own.value.rows,
  };
  if (daemon?.compared != null) {
    const stated = formed?.statements;
    const stateOf = ({ peer_id: id, state }: ComparedPeer) => stated?.get(id)?.statement.state ?? state;
    // The roster may have changed a moment ago, before the daemon read it.
    return ok({ ...facts, peers: daemon.compared.map((peer) => ({ ...peer, state: stateOf(peer) })) });
  }
  const peers = [...(formed?.statements.values() ?? [])]
    .map(({ statement }) => statement)
    .filter((statement) => statement.peer_id !== parts.peerId)
    .map((statement) => notAsked(peerOfStatement(statement)));
  return ok({ ...facts, peers });
}

/** A member as it is shown while this node's daemon, which could ask it, does not run. */
const notAsked = ({ peerId, url, state }: Peer): ComparedPeer => ({
  peer_id: peerId,
  url,
  state,
  reachable: false,
  equal: null,
  differing: [],
  problem: 'not asked: the daemon of this node does not run; start it with "mnemesh serve"',
});
