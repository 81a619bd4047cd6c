import { z } from 'zod';
import type { Acknowledgement, MeshStatus } from '../../actors/mesh/parts.js';
import type { FoundOperation } from '../../protocol/replication/queries.js';

/** What nodes of a mesh ask each other beside operations. */

export const ROSTER_PATH = '/mesh/roster';
export const DIGESTS_PATH = '/mesh/digests';
export const STATUS_PATH = '/mesh/status';
export const OPERATIONS_PATH = '/mesh/operations';

/** Body of `POST /api/v1/mesh/roster` and its answer: everything that the sender knows. */
export const ROSTER_BODY = z.object({ statements: z.array(z.unknown()) });

/** Answer of `GET /api/v1/mesh/digests`. */
export const DIGESTS_ANSWER = z.object({
  peer_id: z.string(),
  digests: z.record(z.string(), z.record(z.string(), z.string())),
  rows: z.number(),
  wall_clock: z.string(),
});

export type DigestsAnswer = z.infer<typeof DIGESTS_ANSWER>;

/**
 * asking: nobody has answered yet. attached: an enrolled peer proved to be there. The others say why nobody is: not
 * enrolled, another key than the enrolled one, no answer, a certificate that is not trusted, an answer of no node, this
 * node itself, or a peer that another address leads to already.
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

/** An address of `--quorum-peers` and who was found there. */
export interface WiredPeer {
  readonly url: string;
  readonly state: WiredState;
  readonly peer_id: string | null;
  readonly problem: string | null;
}

/** How a peer of the mesh stands. */
export interface PeerStanding {
  readonly peer_id: string;
  readonly url: string | null;
  readonly state: 'member' | 'departed';
  /** Null where nobody has asked yet. */
  readonly reachable: boolean | null;
  /** RFC 3339; the last answer. */
  readonly last_contact: string | null;
  /** Its clock minus this node's, in milliseconds, as far as the way allows. */
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
  /** Namespaces that differ. */
  readonly differing: readonly string[];
  readonly problem: string | null;
}

/** Answer of `GET /api/v1/mesh/status`. */
export interface MeshStatusAnswer {
  readonly peer_id: string;
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
  readonly peers: readonly PeerStanding[];
  /** The addresses that were wired by hand. */
  readonly wired: readonly WiredPeer[];
  /** Peers to whom there is a line for hints. */
  readonly hint_lines: readonly string[];
  /** How replication stands, where it runs. */
  readonly replication: MeshStatus | null;
  /** Where it was asked for (`?compare=true`): how the memories of each peer compare with these. */
  readonly compared?: readonly ComparedPeer[] | null;
}

/** Answer of `GET /api/v1/mesh/operations/{id}`: an operation of the log, and who has it. */
export interface OperationStanding extends FoundOperation {
  /** The node that answers. */
  readonly peer_id: string;
  /** Nodes that have it with effect, this one included, and how many a write waits for. */
  readonly acks: number;
  readonly needed: number;
  readonly met: boolean;
  readonly acknowledgements: readonly {
    readonly peer_id: string;
    readonly state: Acknowledgement['state'];
    readonly reason: string | null;
  }[];
}
