import type { Clock, Log, Random, Scheduler, Signer } from '../../protocol/base/seams.js';
import type { Roster } from '../../protocol/peers/peer.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import type { PeerTransport } from '../../protocol/wire/transport.js';
import type { Store } from '../../storage/port.js';
import type { Commits } from '../core/commits.js';
import type { RestartPolicy } from '../core/restart-policy.js';
import type { PeerState } from './connection-state.js';
import type { Comparison } from './entropy-state.js';

/** What replication depends on; everything that touches the outside world is a seam. */
export interface MeshParts {
  readonly self: MeshSelf;
  readonly store: Store;
  readonly roster: Roster;
  readonly transport: PeerTransport;
  /** Verifies the answers of peers in the same way as a push. */
  readonly verifier: Pick<Verifier, 'ready' | 'page' | 'singles'>;
  readonly settings: MeshSettings;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly log: Log;
  /** Default: the log is read each time. */
  readonly commits?: Commits;
  /** How children of the tree are restarted. */
  readonly policy: RestartPolicy;
  /** Counters, for `/metrics`. */
  readonly onEvent?: (event: MeshEvent) => void;
}

/**
 * How many peers are asked, without a cause, in one interval of catch-up or comparison. Any peer can report everything,
 * so in a large mesh they take turns, and an idle node's work does not grow with the mesh.
 */
export const PEERS_ASKED = 10;

/** The peers whose turn it is at the nth interval. */
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
  /** W: copies, this node's included, that a write waits for; 0 waits for no copy. Clamped to the size of the mesh. */
  readonly quorumWrites: number;
  readonly quorumTimeoutMs: number;
  /** Between two rounds of catch-up with every peer; 0 disables the rounds. */
  readonly catchupIntervalMs: number;
  /** Between two comparisons of the rows with one peer's; default one minute, 0 disables them. */
  readonly entropyIntervalMs?: number;
  /** Between two scrubs; 0, the default, disables them. */
  readonly scrubIntervalMs?: number;
  /** How long superseded payloads are kept; 0, the default, keeps them for ever. */
  readonly payloadKeptMs?: number;
  /** Most operations that one push carries, at least 64. */
  readonly pushBatchMax: number;
  /** Operations that one page of a peer is asked for; 1,000 by default. */
  readonly pullBatchMax?: number;
  /** How often the log is read for writes of other processes; 0 when there are no other processes. */
  readonly logPollMs: number;
  /** How long a peer may take to answer a message; default 10 s. */
  readonly requestTimeoutMs?: number;
  /**
   * Number of peers that the operator has named, found or not: the quorum is computed from at least this number. 0 by
   * default.
   */
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
      /** All findings of the scrub. */
      readonly problems: number;
      /** Operations that no node has any more. */
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
  /** Why the quorum was missed; null when it was met. */
  readonly reason: QuorumMiss | null;
}

/** `unreachable`: too few peers can be reached. `parked`: peers have the operation, but it has no effect there. */
export type QuorumMiss = 'timeout' | 'unreachable' | 'parked' | 'stopping';

/** A peer as `mesh status`, `/metrics` and `doctor` show it. */
export interface PeerStatus {
  readonly peerId: string;
  readonly url: string | null;
  readonly state: PeerState;
  /** Of this node's own operations, the last one that the peer durably has. */
  readonly acked: number;
  /** Own operations that the peer lacks, and for how long the oldest of them has been waiting. */
  readonly lagOperations: number;
  readonly lagSeconds: number;
  /** Operations of all origins that the peer had at its last full answer. */
  readonly operations: number;
  /** Its clock minus this one, in milliseconds; null before it was measured. */
  readonly skewMs: number | null;
  /** Failed deliveries of what is owed now. */
  readonly attempts: number;
  readonly cause: string | null;
  readonly lastError: string | null;
  readonly nextTryInMs: number;
  readonly quarantined: boolean;
  /** Operations owed to the peer after a failure, and operations without effect there. */
  readonly dlq: number;
  readonly parked: number;
  /** Root digest that the peer reported when it had nothing left to send. */
  readonly root: string | null;
  /** How this node's rows compare with the peer's; null before the first comparison. */
  readonly rows: 'equal' | 'behind' | 'repaired' | 'unequal' | null;
  /** When a comparison was last completed. */
  readonly comparedAt: string | null;
  /** Comparisons in a row that failed, and, after several, why. */
  readonly comparisonsFailed: number;
  readonly comparisonProblem: string | null;
  /** The rows differ although both nodes have the same operations, and a repair failed: an alarm. */
  readonly diverged: boolean;
  /** The first few namespaces that differed. */
  readonly differing: readonly string[];
  readonly version: string | null;
  readonly lastAnswerAt: string | null;
}

export interface MeshStatus {
  /** This node's origin and its last operation; null before the log was read. */
  readonly origin: string | null;
  readonly originSeq: number;
  /** False while the node catches up after its database was rolled back. */
  readonly accepting: boolean;
  readonly quorum: { readonly configured: number; readonly needed: number; readonly members: number };
  readonly peers: readonly PeerStatus[];
  /** Own operations that fewer than `needed` nodes have. */
  readonly underReplicated: number;
  /** Operations owed to a peer after a failed delivery, and operations without effect there. */
  readonly dlqDepth: number;
  /** Peers whose rows differ permanently. */
  readonly diverged: number;
  /** Peers whose deliveries failed too often; their own pulls are still served. */
  readonly quarantined: number;
}

/** Own operations that a peer is not known to have: those after `acked`, up to `seq`. */
export interface PeerNews {
  readonly origin: string;
  readonly seq: number;
  readonly acked: number;
  /** Milliseconds within which a push should deliver them; null when no push is on its way. */
  readonly pushedWithinMs: number | null;
}

/** One line for each node: whether it has an operation. */
export interface Acknowledgement {
  readonly peerId: string;
  readonly state: 'durable' | 'waiting' | 'parked';
  readonly reason: string | null;
}
