import type { Clock } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Have } from '../../protocol/log/wire-operation.js';
import type { OwnLog } from './own-log.js';
import type { MeshStatus, PeerStatus } from './parts.js';
import type { PeerRecord } from './peer-record.js';

export interface StatusParts {
  readonly ownLog: OwnLog;
  readonly members: readonly PeerRecord[];
  readonly clock: Clock;
  readonly accepting: boolean;
  readonly configured: number;
  readonly needed: number;
}

/** The state of replication, from what this node knows without asking a peer. */
export function meshStatus({
  ownLog,
  members,
  clock,
  accepting,
  configured,
  needed,
}: StatusParts): MeshStatus {
  const peers = members.map((record) => peerStatus(record, ownLog, clock));
  // The acknowledgement that completes the quorum is the (needed - 1)th highest.
  const acked = peers.map((peer) => peer.acked).sort((a, b) => b - a);
  const replicated = needed <= 1 ? ownLog.end : (acked[needed - 2] ?? 0);
  return {
    origin: ownLog.origin,
    originSeq: ownLog.end,
    accepting,
    quorum: { configured, needed, members: 1 + members.length },
    peers,
    underReplicated: Math.max(0, ownLog.end - replicated),
    dlqDepth: peers.reduce((sum, { dlq }) => sum + dlq, 0),
    diverged: peers.filter((peer) => peer.diverged).length,
    quarantined: peers.filter((peer) => peer.quarantined).length,
  };
}

function peerStatus(record: PeerRecord, ownLog: OwnLog, clock: Clock): PeerStatus {
  const { peer, connection, replication, has, lastAnswerAtMs, entropy } = record;
  return {
    peerId: peer.peerId,
    url: peer.url,
    state: connection.state,
    acked: replication.acked,
    lagOperations: Math.max(0, ownLog.end - replication.acked),
    lagSeconds: Math.round(ownLog.lagMs(replication.acked) / 100) / 10,
    skewMs: record.skewMs,
    attempts: connection.attempts,
    cause: connection.cause,
    lastError: record.lastError,
    nextTryInMs: Math.max(0, Math.round(record.notBeforeMs - clock.monotonicMs())),
    quarantined: connection.quarantined,
    dlq: owedAfterFailure(record, ownLog),
    parked: replication.parked.size,
    operations: operationsOf(has),
    root: record.root,
    rows: entropy.last,
    comparedAt: entropy.comparedAt,
    comparisonsFailed: entropy.failed,
    comparisonProblem: entropy.problem,
    diverged: entropy.diverged,
    differing: entropy.differing.slice(0, DIFFERING_SHOWN),
    version: record.version,
    lastAnswerAt: lastAnswerAtMs === null ? null : instantFromMs(lastAnswerAtMs),
  };
}

/** Most namespaces that the status names. */
const DIFFERING_SHOWN = 10;

function owedAfterFailure({ connection, replication }: PeerRecord, ownLog: OwnLog): number {
  const failing = connection.failures > 0 || connection.attempts > 0;
  const parked = [...replication.parked.values()].filter((reason) => reason !== 'out_of_scope').length;
  return (failing ? Math.max(0, ownLog.end - replication.acked) : 0) + parked;
}

function operationsOf(has: Have): number {
  return Object.values(has).reduce((sum, seq) => sum + seq, 0);
}
