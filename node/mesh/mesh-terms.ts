import { z } from 'zod';

/** What nodes of a mesh ask each other beside operations. */

export const ROSTER_PATH = '/mesh/roster';
export const DIGESTS_PATH = '/mesh/digests';
export const STATUS_PATH = '/mesh/status';

/** Body of `POST /api/v1/mesh/roster` and its answer: everything that the sender knows. */
export const ROSTER_BODY = z.object({ statements: z.array(z.unknown()) });

/** Answer of `GET /api/v1/mesh/digests`. */
export const DIGESTS_ANSWER = z.object({
  peer_id: z.string(),
  namespaces: z.record(z.string(), z.string()),
  rows: z.number(),
  wall_clock: z.string(),
});

export type DigestsAnswer = z.infer<typeof DIGESTS_ANSWER>;

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
  readonly serial: number;
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
  /** How replication stands, where it runs. */
  readonly replication: unknown;
}
