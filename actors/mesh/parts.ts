import type { Roster } from '../../protocol/mesh/peer.js';
import type { PeerTransport } from '../../protocol/mesh/transport.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import type { Clock, Log, Random, Scheduler, Signer } from '../../protocol/seams.js';
import type { Store } from '../../storage/port.js';
import type { RestartPolicy } from '../core/restart-policy.js';
import type { Comparison } from './entropy-state.js';
import type { PeerState } from './link-state.js';

/** What replication is made of; everything that touches the world is a seam. */
export interface MeshParts {
  readonly self: MeshSelf;
  readonly store: Store;
  readonly roster: Roster;
  readonly transport: PeerTransport;
  /** Verifies what peers answer, as with a push. */
  readonly verifier: Pick<Verifier, 'page' | 'singles'>;
  readonly settings: MeshSettings;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
  /** How children of the tree are restarted. */
  readonly policy: RestartPolicy;
  /** The own log has grown, by whichever process. */
  readonly onGrown?: () => void;
  /** Counters, for `/metrics`. */
  readonly onEvent?: (event: MeshEvent) => void;
}

/**
 * How many peers are asked, without a cause, in one interval of catch-up or comparison: any of them knows of everything,
 * so in a large mesh they take turns, and an idle node's work does not grow with it.
 */
export const PEERS_ASKED = 10;

/** Those whose turn it is at the nth interval. */
export function inTurn<T>(all: readonly T[], interval: number): readonly T[] {
  if (all.length <= PEERS_ASKED) return all;
  const from = (interval * PEERS_ASKED) % all.length;
  return [...all.slice(from), ...all.slice(0, from)].slice(0, PEERS_ASKED);
}

/** This node, as it speaks to others. */
export interface MeshSelf {
  readonly peerId: string;
  /** Signs messages and the heads of its origins. */
  readonly signer: Signer;
}

export interface MeshSettings {
  /** W: copies, this node's included, that a write waits for; 0 waits for none. Clamped to the size of the mesh. */
  readonly quorumWrites: number;
  readonly quorumTimeoutMs: number;
  /** Between two rounds of catch-up with every peer; 0 leaves them out. */
  readonly catchupIntervalMs: number;
  /** Between two comparisons of the rows with one peer's; default one minute, 0 leaves them out. */
  readonly entropyIntervalMs?: number;
  /** Between two scrubs; 0 and default: none. */
  readonly scrubIntervalMs?: number;
  /** How long superseded payloads are kept; 0 and default: for ever. */
  readonly payloadKeptMs?: number;
  /** Most operations that one push carries, at least 64. */
  readonly pushBatchMax: number;
  /** How often the log is looked at for writes of other processes; 0 when there are none. */
  readonly logPollMs: number;
  /** A peer that does not answer a message in this time has not; default 10 s. */
  readonly requestTimeoutMs?: number;
  /** Peers that the operator has named, found or not: the quorum counts on no fewer. None by default. */
  readonly peersNamed?: () => number;
}

export type MeshEvent =
  | { readonly kind: 'pushed'; readonly peerId: string; readonly operations: number; readonly ms: number }
  | { readonly kind: 'push-failed'; readonly peerId: string; readonly cause: string }
  | { readonly kind: 'pulled'; readonly peerId: string; readonly operations: number }
  | { readonly kind: 'quorum'; readonly met: boolean; readonly ms: number }
  | {
      readonly kind: 'compared';
      readonly peerId: string;
      readonly comparison: Comparison;
      readonly repaired: number;
    }
  | {
      readonly kind: 'scrubbed';
      /** Everything that was not as it was. */
      readonly problems: number;
      /** Operations that nobody has any more. */
      readonly lost: number;
    }
  | { readonly kind: 'quarantined'; readonly peerId: string }
  | { readonly kind: 'epoch-begun'; readonly origin: string };

/** How far a write has come. */
export interface QuorumOutcome {
  /** Copies that are durable, this node's included. */
  readonly acks: number;
  readonly needed: number;
  readonly met: boolean;
  /** Why not, when it is not met. */
  readonly reason: QuorumMiss | null;
}

/** `unreachable`: too few peers can be reached; `parked`: peers have it without its taking effect. */
export type QuorumMiss = 'timeout' | 'unreachable' | 'parked' | 'stopping';

/** A peer as `mesh status`, `/metrics` and `doctor` show it. */
export interface PeerStatus {
  readonly peerId: string;
  readonly url: string | null;
  readonly state: PeerState;
  /** Of this node's own operations, the last one that the peer durably has. */
  readonly acked: number;
  /** Own operations that it lacks, and for how long the oldest of them has been waiting. */
  readonly lagOperations: number;
  readonly lagSeconds: number;
  /** Operations of all origins that it had at its last full answer. */
  readonly operations: number;
  /** Its clock minus this one, in milliseconds; null before it was measured. */
  readonly skewMs: number | null;
  /** Failed deliveries of what is owed now. */
  readonly attempts: number;
  readonly cause: string | null;
  readonly lastError: string | null;
  readonly nextTryInMs: number;
  readonly quarantined: boolean;
  /** Operations owed to it after a failure, and those without effect there. */
  readonly dlq: number;
  readonly parked: number;
  /** Root digest that it told when it had nothing left to send. */
  readonly root: string | null;
  /** How the rows compare with its rows; null before they were compared. */
  readonly rows: 'equal' | 'behind' | 'repaired' | 'unequal' | null;
  readonly comparedAt: string | null;
  /** The rows differ although both have the same operations, and could not be repaired: an alarm. */
  readonly diverged: boolean;
  /** Namespaces that differed, the first few. */
  readonly differing: readonly string[];
  readonly version: string | null;
  readonly lastAnswerAt: string | null;
}

export interface MeshStatus {
  /** This node's origin and the last operation of it; null before the log was read. */
  readonly origin: string | null;
  readonly originSeq: number;
  /** False while the node catches up after its database was put back. */
  readonly accepting: boolean;
  readonly quorum: { readonly configured: number; readonly needed: number; readonly members: number };
  readonly peers: readonly PeerStatus[];
  /** Own operations that fewer than `needed` nodes have. */
  readonly underReplicated: number;
  /** Operations owed to a peer after a failed delivery, and operations without effect there. */
  readonly dlqDepth: number;
  /** Peers whose rows differ for good. */
  readonly diverged: number;
  /** Peers whose deliveries failed too often; they are still served when they ask. */
  readonly quarantined: number;
}

/** Own operations that a peer is not known to have: those after `acked`, up to `seq`. */
export interface PeerNews {
  readonly origin: string;
  readonly seq: number;
  readonly acked: number;
  /** They are on their way to it anyway, and should be there after so many milliseconds; null when they are not. */
  readonly pushedWithinMs: number | null;
}

/** One line for each node that has an operation, or has not. */
export interface Acknowledgement {
  readonly peerId: string;
  readonly state: 'durable' | 'waiting' | 'parked';
  readonly reason: string | null;
}
