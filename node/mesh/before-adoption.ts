import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { isPeerId } from '../../protocol/log/peer-id.js';
import type { Settings } from '../config/settings.js';
import { askDaemon } from './ask-daemon.js';
import { MeshState, type StateSeams } from './forming/mesh-state.js';
import { type MeshStatusAnswer, STATUS_PATH } from './mesh-answers.js';
import { FileRoster } from './roster-from-files.js';

/** A peer whose last answer is younger than this may still be up. */
const RECENT_MS = 5 * 60_000;

export interface AdoptionParts extends StateSeams {
  readonly settings: Settings;
  /** This node. */
  readonly peerId: string;
}

/** What is known of a node before its subjects are adopted. */
export interface AdoptablePeer {
  /** When it last answered the daemon; null when that was long ago. */
  readonly answeredAt: string | null;
  /** False when this node's daemon could not be asked. */
  readonly asked: boolean;
}

/**
 * Checks a node whose subjects are to be adopted: the roster must know it, and the daemon says whether it still answers.
 * NOT_FOUND for a node that belongs to no mesh, and for a peer that is not in its roster. FORBIDDEN where the other nodes
 * would refuse the adoption.
 */
export async function lookBeforeAdoption(
  parts: AdoptionParts,
  peerId: string,
): Promise<Result<AdoptablePeer>> {
  // A node may take its own subjects back.
  if (peerId === parts.peerId) return ok({ answeredAt: null, asked: false });
  const state = new MeshState(parts.settings.home, parts);
  state.reload();
  const { formed } = state;
  const { keyDir } = parts.settings;
  const enrolled = new FileRoster({ ...parts, keyDir, scopes: null, trustPulls: false });
  // The key folder also holds keys of agents.
  if (formed === null && !enrolled.peers().some((peer) => isPeerId(peer.peerId))) {
    return fail('NOT_FOUND', 'this node belongs to no mesh, so it cannot adopt a node');
  }
  const own = formed?.statements.get(parts.peerId)?.statement;
  if (own?.state === 'departed') {
    return fail('FORBIDDEN', 'this node was removed from the mesh: adopt the node on a member');
  }
  if (own !== undefined && own.allowed_namespaces !== null) {
    const message = 'this node may hold only some namespaces: adopt the node on a member that may hold all';
    return fail('FORBIDDEN', message, { allowed_namespaces: own.allowed_namespaces });
  }
  if (formed?.statements.has(peerId) !== true && enrolled.find(peerId) === null) {
    return fail(
      'NOT_FOUND',
      `this node does not know ${peerId}; "mesh status" shows the nodes that it knows`,
    );
  }
  const status = (await askDaemon({ ...parts, formed }, STATUS_PATH)) as MeshStatusAnswer | null;
  return ok({
    answeredAt: status === null ? null : recentAnswer(status, peerId, parts.clock),
    asked: status !== null,
  });
}

/** The time of a member's last answer, if the daemon says that it still answers. */
function recentAnswer({ peers, replication }: MeshStatusAnswer, peerId: string, clock: Clock): string | null {
  const known = peers.find((peer) => peer.peer_id === peerId);
  const delivery = replication?.peers.find((peer) => peer.peerId === peerId);
  if (known?.state === 'departed' || known?.reachable === false || delivery?.state === 'cut') return null;
  const answers = [known?.last_contact, delivery?.lastAnswerAt].filter((at) => typeof at === 'string');
  const last = answers.sort().at(-1);
  return last !== undefined && clock.nowMs() - Date.parse(last) < RECENT_MS ? last : null;
}
