import { heldNamespaces } from '../../protocol/mesh/digest.js';
import { peerOfStatement } from '../../protocol/mesh/roster-statement.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { askDaemon } from './ask-daemon.js';
import { comparePeers } from './compare-peers.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { type ComparedPeer, type MeshStatusAnswer, STATUS_PATH } from './mesh-terms.js';
import type { SignRequest } from './roster-exchange.js';
import { UndiciTransport } from './undici-transport.js';

export interface Survey {
  readonly peer_id: string;
  readonly mesh_id: string | null;
  /** What the running daemon of this node says; null where none answers. */
  readonly daemon: MeshStatusAnswer | null;
  readonly namespaces: number;
  readonly rows: number;
  readonly peers: readonly ComparedPeer[];
}

export interface SurveyParts extends StateSeams {
  readonly settings: Settings;
  readonly peerId: string;
  readonly store: Store;
  readonly sign: SignRequest;
}

/**
 * How this node and its peers stand: from its daemon, which asks them all; while that is down the members of a mesh are
 * asked from the command line's own process.
 */
export async function surveyMesh(parts: SurveyParts): Promise<Result<Survey>> {
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
    daemon,
    namespaces: heldNamespaces(own.value.digests).length,
    rows: own.value.rows,
  };
  if (daemon?.compared != null) return ok({ ...facts, peers: daemon.compared });
  if (formed === null) return ok({ ...facts, peers: [] });
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
  try {
    const peers = await comparePeers({
      ...parts,
      peers: known.filter(({ peerId }) => peerId !== parts.peerId),
      scope: known.find(({ peerId }) => peerId === parts.peerId) ?? { allowedNamespaces: null },
      digests: own.value,
      transport,
    });
    return ok({ ...facts, peers });
  } finally {
    await transport.close();
  }
}
