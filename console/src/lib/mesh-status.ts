/** What GET /mesh/status answers, as far as the console shows it. */
export interface MeshStatus {
  readonly peer_id: string;
  readonly name: string | null;
  readonly mesh_id: string | null;
  readonly url: string | null;
  readonly listening: boolean;
  readonly problem: string | null;
  readonly state: string;
  readonly certificate_expires: string | null;
  readonly peers: readonly Peer[];
  readonly wired: readonly Readonly<Record<string, unknown>>[];
  readonly replication: Replication | null;
  readonly compared?: readonly Compared[] | null;
}

interface Peer {
  readonly peer_id: string;
  readonly name: string | null;
  readonly url: string | null;
  readonly state: string;
  readonly reachable: boolean | null;
  readonly last_contact: string | null;
  readonly skew_ms: number | null;
  readonly problem: string | null;
}

interface Compared {
  readonly peer_id: string;
  readonly equal: boolean | null;
  readonly differing: readonly string[];
  readonly problem: string | null;
}

interface Replication {
  readonly origin: string | null;
  readonly originSeq: number;
  readonly accepting: boolean;
  readonly quorum: { readonly configured: number; readonly needed: number; readonly members: number };
  readonly peers: readonly Replicated[];
  readonly underReplicated: number;
  readonly dlqDepth: number;
  readonly diverged: number;
  readonly quarantined: number;
}

/** How far a peer has what this node wrote. */
interface Replicated {
  readonly peerId: string;
  readonly url: string | null;
  readonly state: string;
  readonly acked: number;
  readonly lagOperations: number;
  readonly lagSeconds: number;
  readonly skewMs: number | null;
  readonly lastError: string | null;
  readonly quarantined: boolean;
  readonly dlq: number;
  readonly parked: number;
  readonly rows: string | null;
  readonly diverged: boolean;
  readonly differing: readonly string[];
  readonly version: string | null;
  readonly lastAnswerAt: string | null;
}

/** One node of the mesh, as this one sees it. */
export interface NodeRow {
  readonly id: string;
  readonly name: string;
  readonly isOwn: boolean;
  readonly version: string | null;
  readonly state: string;
  readonly reachable: string;
  readonly heardAt: string | null;
  readonly skewMs: number | null;
  readonly acked: number | null;
  readonly lag: string;
  /** Whether its memories are the same, or where they differ. */
  readonly memories: string;
  readonly deadLetters: number | null;
  readonly problem: string | null;
}

const answersText = (reachable: boolean | null): string =>
  reachable === null ? 'not asked yet' : reachable ? 'yes' : 'no';

const lagText = ({ lagOperations: count, lagSeconds: seconds }: Replicated): string =>
  count === 0 ? 'none' : `${count} ${count === 1 ? 'operation' : 'operations'}, ${Math.round(seconds)} s`;

function memoriesText(compared: Compared | undefined, replicated: Replicated | undefined): string {
  if (compared?.equal === true) return 'equal';
  if (compared?.equal === false) return `differ in ${compared.differing.join(', ')}`;
  return replicated?.rows ?? 'not compared';
}

/** This node and its peers: members of a mesh, and nodes that were enrolled by hand. */
export function nodesOf(status: MeshStatus, ownVersion: string): readonly NodeRow[] {
  const replicated = new Map(status.replication?.peers.map((each) => [each.peerId, each]));
  const compared = new Map(status.compared?.map((each) => [each.peer_id, each]));
  const own: NodeRow = {
    ...{ id: status.peer_id, name: status.name ?? status.peer_id, isOwn: true, version: ownVersion },
    ...{ state: status.state, reachable: 'this node', heardAt: null, skewMs: null, lag: 'none' },
    ...{ acked: status.replication?.originSeq ?? null, memories: 'its own', deadLetters: null },
    problem: status.problem,
  };
  const known = new Set(status.peers.map(({ peer_id: id }) => id));
  const peers = [
    ...status.peers,
    ...[...replicated.values()]
      .filter(({ peerId }) => !known.has(peerId))
      .map(({ peerId, url, state, skewMs, lastAnswerAt }) => ({
        ...{ peer_id: peerId, name: null, url, state, reachable: null, last_contact: lastAnswerAt },
        ...{ skew_ms: skewMs, problem: null },
      })),
  ];
  const rows = peers.map((peer): NodeRow => {
    const news = replicated.get(peer.peer_id);
    return {
      ...{ id: peer.peer_id, name: peer.name ?? peer.peer_id, isOwn: false },
      ...{ version: news?.version ?? null, state: news?.state ?? peer.state, skewMs: peer.skew_ms },
      ...{ reachable: answersText(peer.reachable), acked: news?.acked ?? null },
      heardAt: news?.lastAnswerAt ?? peer.last_contact,
      lag: news === undefined ? '–' : lagText(news),
      memories: memoriesText(compared.get(peer.peer_id), news),
      deadLetters: news === undefined ? null : news.dlq + news.parked,
      problem: peer.problem ?? news?.lastError ?? compared.get(peer.peer_id)?.problem ?? null,
    };
  });
  return [own, ...rows];
}

/** What people call a node; its id where it has no name. */
export function nodeName(status: MeshStatus | null, id: string | null): string {
  if (id === null) return 'an unknown node';
  if (status?.peer_id === id) return `${status.name ?? id} (this node)`;
  return status?.peers.find(({ peer_id: each }) => each === id)?.name ?? id;
}
