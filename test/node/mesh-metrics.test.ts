import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MeshStatus } from '../../actors/mesh/parts.js';
import { Metrics } from '../../node/observability/metrics.js';

const peer = (peerId: string): MeshStatus['peers'][number] => ({
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

test('replication has its lines, and a peer that left has none', async () => {
  const metrics = new Metrics();
  assert.ok(!(await metrics.render()).includes('svc_peer_'));
  const status: MeshStatus = {
    origin: null,
    originSeq: 8,
    accepting: true,
    quorum: { configured: 2, needed: 2, members: 3 },
    peers: [peer('peer-a'), peer('peer-b')],
    underReplicated: 4,
    dlqDepth: 5,
    quarantined: 0,
    diverged: 0,
  };
  metrics.mesh.status(status);
  metrics.mesh.status({ ...status, peers: [peer('peer-a')] });
  metrics.mesh.event({ kind: 'push-failed', peerId: 'peer-a', cause: 'timeout' });
  const text = await metrics.render();
  for (const line of [
    'svc_peer_up{peer="peer-a"} 1',
    'svc_peer_lag_operations{peer="peer-a"} 7',
    'svc_peer_clock_skew_ms{peer="peer-a"} -3',
    'svc_federation_push_dlq_depth 5',
    'svc_operations_under_replicated 4',
    'svc_push_failures_total{peer="peer-a",cause="timeout"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  assert.ok(!text.includes('peer-b'));
});
