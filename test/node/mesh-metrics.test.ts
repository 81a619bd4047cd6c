import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '../../node/observability/metrics.js';
import { meshStatus } from '../support/mesh-status.js';

test('replication has its lines, and a peer that left has none', async () => {
  const metrics = new Metrics();
  assert.ok(!(await metrics.render()).includes('svc_peer_'));
  metrics.mesh.status(meshStatus('peer-a', 'peer-b'));
  metrics.mesh.status(meshStatus('peer-a'));
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
