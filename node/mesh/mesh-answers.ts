import { z } from 'zod';
import type { Acknowledgement, MeshStatus } from '../../actors/mesh/parts.js';
import type { FoundOperation } from '../../protocol/replication/queries.js';

/** What nodes of a mesh ask each other, apart from operations. */

export const ROSTER_PATH = '/mesh/roster';
/** `GET`: what the authority states about the node that asks, in the form of a roster. */
export const MEMBERSHIP_PATH = '/mesh/membership';
export const STATUS_PATH = '/mesh/status';
export const OPERATIONS_PATH = '/mesh/operations';

/** Body of `POST /api/v1/mesh/roster` and its answer: all statements that the sender knows. */
export const ROSTER_BODY = z.object({ statements: z.array(z.unknown()) });

/**
 * asking: no answer yet. attached: an enrolled peer proved that it is there. The other states say why no peer is
 * attached: it is not enrolled, has another key than the enrolled one, does not answer, has an untrusted certificate,
 * answers like no node, is this node itself, or is a peer to which another address already leads.
 */
export type WiredState =
  | 'asking'
  | 'attached'
  | 'not_enrolled'
  | 'wrong_key'
  | 'unreachable'
  | 'untrusted'
  | 'rubbish'
  | 'self'
  | 'duplicate';

/** An address of `--quorum-peers` and the peer that was found there. */
export interface WiredPeer {
  readonly url: string;
  readonly state: WiredState;
  readonly peer_id: string | null;
  readonly problem: string | null;
}

/** The state of a peer of the mesh. */
export interface PeerReachability {
  readonly peer_id: string;
  /** Null for a node without a name. */
  readonly name: string | null;
  readonly url: string | null;
  readonly state: 'member' | 'departed';
  /** Null when it was not asked yet. */
  readonly reachable: boolean | null;
  /** RFC 3339, the time of the last answer. */
  readonly last_contact: string | null;
  /** Its clock minus this node's, in milliseconds, as exactly as the exchange allows. */
  readonly skew_ms: number | null;
  readonly problem: string | null;
  readonly allowed_namespaces: readonly string[] | null;
  /** 0 for a peer that was enrolled by hand. */
  readonly serial: number;
}

/** How a peer's state compares with this node's. */
export interface ComparedPeer {
  readonly peer_id: string;
  readonly url: string | null;
  readonly state: 'member' | 'departed';
  readonly reachable: boolean;
  /** Null where the peer did not answer. */
  readonly equal: boolean | null;
  /** Namespaces that differ; of very many the first. */
  readonly differing: readonly string[];
  readonly problem: string | null;
}

/** Answer of `GET /api/v1/mesh/status`. */
export interface MeshStatusAnswer {
  readonly peer_id: string;
  readonly name: string | null;
  readonly mesh_id: string | null;
  readonly url: string | null;
  /** True when the listener for peers is up. */
  readonly listening: boolean;
  readonly problem: string | null;
  readonly authority: boolean;
  readonly state: 'none' | 'member' | 'departed';
  readonly certificate_fingerprint: string | null;
  readonly certificate_expires: string | null;
  readonly open_invites: number;
  readonly peers: readonly PeerReachability[];
  /** The addresses that were wired by hand. */
  readonly wired: readonly WiredPeer[];
  /** Peers with a line for hints. */
  readonly hint_lines: readonly string[];
  /** The state of replication, where it runs. */
  readonly replication: MeshStatus | null;
  /** When requested (`?compare=true`): how the memories of each peer compare with this node's. */
  readonly compared?: readonly ComparedPeer[] | null;
}

/** Answer of `GET /api/v1/mesh/operations/{id}`: an operation of the log, and the nodes that have it. */
export interface OperationStatus extends FoundOperation {
  /** The node that answers. */
  readonly peer_id: string;
  /** Number of nodes, this one included, on which it has taken effect, and how many a write waits for. */
  readonly acks: number;
  readonly needed: number;
  readonly met: boolean;
  readonly acknowledgements: readonly {
    readonly peer_id: string;
    readonly state: Acknowledgement['state'];
    readonly reason: string | null;
  }[];
}
