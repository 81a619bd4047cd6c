import type { MeshStatusAnswer } from '../mesh/mesh-terms.js';
import { type Section, SectionBuilder } from './report.js';

const DAY_MS = 86_400_000;
const CERTIFICATE_SOON_DAYS = 30;
/** A clock this far off is worth a word (design: mesh). */
const SKEW_MS = 5000;

export interface MeshFindings {
  /** What the node's daemon says; null where it does not answer. */
  readonly status: MeshStatusAnswer | null;
  /** Null on a node that was wired by hand. */
  readonly meshId: string | null;
  /** When this node's certificate ends; null where it has none of a mesh. */
  readonly certificateEndsMs: number | null;
  readonly nowMs: number;
}

/** How the mesh stands, from the files of the node and from what its daemon says. */
export function checkMesh({ status, meshId, certificateEndsMs, nowMs }: MeshFindings): Section {
  const section = new SectionBuilder('Mesh').fact('mesh', meshId ?? 'wired by hand');
  if (certificateEndsMs !== null) certificate(section, Math.floor((certificateEndsMs - nowMs) / DAY_MS));
  if (status === null) {
    return section
      .info('MESH_NOT_ASKED', 'no daemon of this node answers, so its peers are not known', '')
      .done();
  }
  const { replication } = status;
  section.fact('peers', status.peers.length).fact('state', status.state);
  if (status.state === 'departed') {
    section.crit('MESH_REMOVED', 'this node was removed from its mesh', 'join again with a fresh invitation');
  }
  if (status.problem !== null) {
    section.crit('MESH_NOT_LISTENING', `peers cannot reach this node: ${status.problem}`, 'free the address');
  }
  const members = status.peers.filter(({ state }) => state === 'member');
  if (members.length === 0) {
    section.info(
      'MESH_ALONE',
      'this node is alone in its mesh: a lost disk is lost for good',
      'mnemesh mesh invite',
    );
  }
  for (const { url, state, problem } of status.wired) {
    if (state === 'attached' || state === 'asking') continue;
    section.warn('PEER_ASTRAY', `${url}: ${problem ?? state}`, 'correct --quorum-peers, or enrol the peer');
  }
  if (replication !== null) replicationFindings(section, replication);
  for (const { peer_id: peer, skew_ms: ms } of members) {
    const skew = ms ?? replication?.peers.find(({ peerId }) => peerId === peer)?.skewMs ?? 0;
    if (Math.abs(skew) <= SKEW_MS) continue;
    section.warn(
      'PEER_SKEW',
      `the clock of ${peer} is ${Math.round(skew / 1000)} s off; beyond 60 s its writes are refused`,
      'set the clocks, run NTP on both',
    );
  }
  roots(section, status);
  return section.done();
}

function certificate(section: SectionBuilder, daysLeft: number): void {
  section.fact('certificate', `${daysLeft} days left`);
  const fix =
    'mnemesh mesh renew on the node that made the mesh, elsewhere mnemesh mesh join with a fresh invitation';
  if (daysLeft < 0) section.crit('MESH_CERTIFICATE_EXPIRED', "this node's certificate has expired", fix);
  else if (daysLeft < CERTIFICATE_SOON_DAYS) {
    section.warn('MESH_CERTIFICATE_ENDS', `this node's certificate ends in ${daysLeft} days`, fix);
  }
}

function replicationFindings(
  section: SectionBuilder,
  { peers, quorum, accepting, dlqDepth, underReplicated }: NonNullable<MeshStatusAnswer['replication']>,
): void {
  section.fact('quorum', `${quorum.needed} of ${quorum.members} nodes`).fact('dlq', dlqDepth);
  if (quorum.configured > quorum.members) {
    section.warn(
      'QUORUM_LARGER_THAN_MESH',
      `writes are to be on ${quorum.configured} nodes, and the mesh has ${quorum.members}`,
      'invite more nodes, or lower --quorum-writes',
    );
  }
  if (!accepting) {
    section.warn('WRITES_HELD', 'writes wait until what this database lost has come back', 'look at the log');
  }
  for (const { peerId, state, cause, lastError, quarantined, lagOperations } of peers) {
    if (quarantined) {
      section.warn(
        'DELIVERIES_QUARANTINED',
        `${peerId} refused ${lagOperations} operations too often (${cause}); they rest until it asks or is upgraded`,
        "look at that node's log and release",
      );
    } else if (state === 'cut' || state === 'suspect') {
      section.warn(
        'PEER_UNREACHABLE',
        `${peerId} is ${state}, it lacks ${lagOperations} operations${lastError === null ? '' : `: ${lastError}`}`,
        'look whether that node runs and can be reached',
      );
    }
  }
  if (underReplicated > 0) {
    section.info(
      'UNDER_REPLICATED',
      `${underReplicated} operations are on fewer nodes than asked for so far`,
    );
  }
}

/** Who did not answer when asked, and memories that differ although nothing is on its way: no queue will mend those. */
function roots(section: SectionBuilder, { compared, replication }: MeshStatusAnswer): void {
  for (const { peer_id: peer, state, equal, differing, reachable, problem } of compared ?? []) {
    const link = replication?.peers.find(({ peerId }) => peerId === peer);
    const isTold =
      link !== undefined && (link.state === 'cut' || link.state === 'suspect' || link.quarantined);
    if (state === 'member' && !reachable && !isTold) {
      section.warn('PEER_UNREACHABLE', `${peer} does not answer: ${problem}`, 'look whether that node runs');
    }
    if (equal !== false) continue;
    const underWay = link === undefined || link.lagOperations > 0 || link.dlq > 0;
    const what = `${peer} differs in ${differing.length} namespaces (${differing.slice(0, 3).join(', ')})`;
    if (underWay) section.info('ROOTS_CATCHING_UP', `${what}; deliveries are under way`);
    else section.warn('ROOTS_UNEQUAL', `${what} with nothing left to deliver`, 'mnemesh mesh verify');
  }
}
