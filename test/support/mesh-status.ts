import type { MeshStatus } from '../../actors/mesh/parts.js';

/** A peer that answers, as replication sees it. */
export const peerStatus = (peerId: string): MeshStatus['peers'][number] => ({
  peerId,
  url: null,
  state: 'healthy',
  acked: 1,
  lagOperations: 7,
  lagSeconds: 2,
  skewMs: -3,
  attempts: 0,
  cause: null,
  lastError: null,
  nextTryInMs: 0,
  quarantined: false,
  dlq: 0,
  parked: 0,
  operations: 1,
  root: null,
  rows: null,
  comparedAt: null,
  comparisonsFailed: 0,
  comparisonProblem: null,
  diverged: false,
  differing: [],
  version: null,
  lastAnswerAt: null,
});

/** The state of replication with these peers, as metrics take it. */
export const meshStatus = (...peers: readonly string[]): MeshStatus => ({
  origin: null,
  originSeq: 8,
  accepting: true,
  quorum: { configured: 2, needed: 2, members: 3 },
  peers: peers.map(peerStatus),
  underReplicated: 4,
  dlqDepth: 5,
  quarantined: 0,
  diverged: 0,
});
