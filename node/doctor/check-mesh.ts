import { CLOCK_AHEAD_MS_MAX } from '../../protocol/base/limits.js';
import type { MeshStatusAnswer } from '../mesh/mesh-answers.js';
import { type Section, SectionBuilder } from './report.js';

const DAY_MS = 86_400_000;
const CERTIFICATE_SOON_DAYS = 30;
/** A clock that is off by this much is reported (design: mesh). */
const SKEW_MS = 5000;

export interface MeshFindings {
  /** The status of the node's daemon; null when it does not answer. */
  readonly status: MeshStatusAnswer | null;
  /** Null on a node that was wired by hand. */
  readonly meshId: string | null;
  /** When this node's mesh certificate ends; null when it has none. */
  readonly certificateEndsMs: number | null;
  readonly nowMs: number;
}

/** Checks the mesh by the files of the node and the status of its daemon. */
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
    section.crit('MESH_REMOVED', 'this node was removed from its mesh', 'join again with a new invitation');
  }
  if (status.problem !== null) {
    section.crit('MESH_NOT_LISTENING', `peers cannot reach this node: ${status.problem}`, 'free the address');
  }
  const members = status.peers.filter(({ state }) => state === 'member');
  if (members.length === 0) {
    section.info(
      'MESH_ALONE',
      'this node is the only one in its mesh: if its disk is lost, the data is lost',
      'mnemesh mesh invite',
    );
  }
  for (const { url, state, problem } of status.wired) {
    if (state === 'attached' || state === 'asking') continue;
    section.warn('PEER_ASTRAY', `${url}: ${problem ?? state}`, 'correct --quorum-peers, or enrol the peer');
  }
  if (replication !== null) replicationFindings(section, replication);
  const skews = skewsOf(status);
  if (skews.size > 0 && [...skews.values()].every((ms) => ms < -CLOCK_AHEAD_MS_MAX)) {
    section.crit(
      'CLOCK_AHEAD',
      `this machine's clock is ${Math.round(-Math.max(...skews.values()) / 1000)} s ahead of all peers that answer: writes are refused`,
      'set the clock',
    );
  }
  for (const [peer, skew] of skews) {
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

/** The clocks of the members minus this one, in milliseconds, as far as they answered. */
export function skewsOf({ peers, replication }: MeshStatusAnswer): ReadonlyMap<string, number> {
  const members = peers.filter(({ state }) => state === 'member');
  return new Map(
    members.flatMap(({ peer_id: peer, skew_ms: ms }) => {
      const skew = ms ?? replication?.peers.find(({ peerId }) => peerId === peer)?.skewMs ?? null;
      return skew === null ? [] : [[peer, skew] as const];
    }),
  );
}

function certificate(section: SectionBuilder, daysLeft: number): void {
  section.fact('certificate', `${daysLeft} days left`);
  const fix =
    'mnemesh mesh renew on the node that made the mesh, on other nodes mnemesh mesh join with a new invitation';
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
      `writes must be on ${quorum.configured} nodes, but the mesh has only ${quorum.members}`,
      'invite more nodes, or lower --quorum-writes',
    );
  }
  if (!accepting) {
    section.warn(
      'WRITES_HELD',
      'writes wait until the operations that this database lost are restored',
      'look at the log',
    );
  }
  for (const { peerId, state, cause, lastError, quarantined, lagOperations, ...rest } of peers) {
    if (rest.comparisonProblem !== null) {
      section.warn(
        'ROWS_NOT_COMPARED',
        `the last ${rest.comparisonsFailed} comparisons of the rows with ${peerId} failed (${rest.comparisonProblem}), so differences are neither found nor repaired`,
        "look at that node's log and release",
      );
    }
    if (quarantined) {
      section.warn(
        'DELIVERIES_QUARANTINED',
        `${peerId} refused ${lagOperations} operations too often (${cause}); they are suspended until it asks for them or is upgraded`,
        "look at that node's log and release",
      );
    } else if (state === 'cut' || state === 'suspect') {
      section.warn(
        'PEER_UNREACHABLE',
        `${peerId} is ${state} and lacks ${lagOperations} operations${lastError === null ? '' : `: ${lastError}`}`,
        'check whether that node runs and can be reached',
      );
    }
  }
  if (underReplicated > 0) {
    section.info('UNDER_REPLICATED', `${underReplicated} operations are so far on fewer nodes than required`);
  }
}

/** Reports peers that did not answer, and differences with no delivery under way, which no queue will repair. */
function roots(section: SectionBuilder, { compared, replication }: MeshStatusAnswer): void {
  for (const { peer_id: peer, state, equal, differing, reachable, problem } of compared ?? []) {
    const link = replication?.peers.find(({ peerId }) => peerId === peer);
    const isReported =
      link !== undefined && (link.state === 'cut' || link.state === 'suspect' || link.quarantined);
    if (state === 'member' && !reachable && !isReported) {
      section.warn('PEER_UNREACHABLE', `${peer} does not answer: ${problem}`, 'check whether that node runs');
    }
    if (equal !== false) continue;
    const underWay = link === undefined || link.lagOperations > 0 || link.dlq > 0;
    const what = `${peer} differs in ${differing.length} namespaces (${differing.slice(0, 3).join(', ')})`;
    if (underWay) section.info('ROOTS_CATCHING_UP', `${what}; deliveries are under way`);
    else section.warn('ROOTS_UNEQUAL', `${what} with nothing left to deliver`, 'mnemesh mesh verify');
  }
}
