import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { HookReport } from '../../../actors/hooks/hooks.js';
import { Metrics } from '../../../node/observability/metrics.js';

const REPORT: HookReport = {
  ...{ index: 0, event: 'pre_store', command: '/home/operator/guard', mode: 'exec', priority: 0 },
  ...{ namespace: '*', fail_mode: 'open', timeout_ms: 5000, events_fired: 3, events_dropped: 1 },
  ...{ timeouts: 1, denied: 1, mean_latency_us: 7, last_problem: null },
};

it('the metrics of hooks name no program, and go with the last hook', async () => {
  const metrics = new Metrics();
  const shown = async (...reports: readonly HookReport[]) => {
    metrics.showHooks({ report: () => reports, dropped: 0 });
    return await metrics.render();
  };
  assert.doesNotMatch(await shown(), /svc_hook_/);
  const one = await shown(REPORT);
  assert.match(one, /^svc_hook_events_fired_total\{hook="0",event="pre_store"\} 3$/m);
  assert.doesNotMatch(one, /guard/);
  assert.doesNotMatch(await shown(), /hook="0"/);
});
