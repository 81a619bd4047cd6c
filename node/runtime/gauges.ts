import type { ChildSpec } from '../../actors/core/child.js';
import { loopChild } from '../../actors/core/loop.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import { modelUseKind } from '../../protocol/models/model-use.js';
import type { MeshNode } from '../mesh/mesh-node.js';
import type { Metrics } from '../observability/metrics.js';
import type { Services } from '../pipeline/call.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import { systemClock, systemScheduler } from '../seams.js';
import type { DaemonCondition } from './daemon-condition.js';
import type { DaemonStorage } from './daemon-storage.js';
import type { DeferredTouches } from './touch-queue.js';

const GAUGES_INTERVAL_MS = 2000;

/** The measured parts, and where the figures go. */
export interface GaugesParts {
  readonly storage: DaemonStorage;
  readonly touches: DeferredTouches;
  readonly mesh: MeshNode;
  readonly services: Pick<Services, 'models'>;
  /** False in keyword mode: no memory waits for a vector. */
  readonly embeds: boolean;
  readonly metrics: Metrics;
  readonly condition: DaemonCondition;
}

/** The loop that measures a daemon's queues for `/metrics`, so that a scrape does not query the store. */
export function gaugesChild(parts: GaugesParts): ChildSpec {
  const { storage, touches, mesh, embeds, metrics, condition } = parts;
  let touchesDropped = 0;
  let recalled = { ...touches.recalled };
  const { spec } = loopChild({
    id: 'gauges',
    policy: BACKGROUND_POLICY,
    clock: systemClock,
    scheduler: systemScheduler,
    round: async () => {
      metrics.setWriterQueueDepth(storage.queued);
      mesh.gauge();
      metrics.touchesDropped(touches.dropped - touchesDropped);
      touchesDropped = touches.dropped;
      metrics.recalled(touches.recalled, recalled);
      recalled = { ...touches.recalled };
      const size = await storage.store.query({ kind: 'database-size' }, { lane: 'background' });
      metrics.setDatabase(size.ok ? size.value.db_size_bytes : null);
      const used = await storage.store.query({ kind: 'used-room' }, { lane: 'background' });
      if (used.ok && used.value.used_bytes !== null) metrics.setDatabaseUsed(used.value.used_bytes);
      const texts = await storage.store.query({ kind: 'text-index-progress' }, { lane: 'background' });
      if (texts.ok) metrics.setWaitingTexts(texts.value.waiting);
      const pendings = await storage.store.query(
        { kind: 'count-pendings', viewer: null },
        { lane: 'background' },
      );
      if (pendings.ok) metrics.setPendingActions(pendings.value.waiting);
      const webhooks = await storage.store.query({ kind: 'webhook-totals' }, { lane: 'background' });
      if (webhooks.ok) metrics.setWebhooks(webhooks.value);
      await gaugeModels(parts);
      const jobs = await storage.store.query({ kind: 'job-totals' }, { lane: 'background' });
      if (jobs.ok) metrics.setJobs(jobs.value.totals);
      if (embeds) {
        const waiting = await storage.store.query(
          { kind: 'count-pending-embeddings' },
          { lane: 'background' },
        );
        if (waiting.ok) {
          condition.pendingEmbeddings = waiting.value.pending;
          metrics.setPendingEmbedding(waiting.value.pending);
        }
      }
      return { afterMs: GAUGES_INTERVAL_MS };
    },
  });
  return spec;
}

/** What the models of this day were asked; nothing is read where none is configured. */
async function gaugeModels({ storage, services, metrics }: GaugesParts): Promise<void> {
  if (Object.keys(services.models.state().models).length === 0) return;
  const now = instantFromMs(systemClock.nowMs());
  const where = { day: now.slice(0, 'YYYY-MM-DD'.length) };
  const asked = {
    kind: 'find-records',
    of: modelUseKind.name,
    viewer: null,
    now,
    where,
    limit: 100,
  } as const;
  const found = await storage.store.query(asked, { lane: 'background' });
  if (!found.ok) return;
  metrics.setModelRequestsToday(rowsOf(modelUseKind, found.value).reduce((sum, { calls }) => sum + calls, 0));
}
