import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { Metrics } from '../../node/observability/metrics.js';
import { meshStatus } from '../support/mesh-status.js';
import { alertQueries, dashboardQueries } from './monitoring-queries.js';

/** What Prometheus adds to each series, and the series that it makes itself. */
const OF_PROMETHEUS = { labels: ['instance', 'job'], series: 'up' };

/** The labels of every series of a node at which everything has happened once. */
async function seriesOfNode(): Promise<Map<string, Set<string>>> {
  const metrics = new Metrics();
  metrics.request('memory_store', 201, 0.001);
  metrics.actorRestarted('storage');
  metrics.authenticationFailed('key');
  metrics.policyDecision('store', 'ask');
  metrics.modelRequest('auto_tag', { failed: false, tokensIn: 1, tokensOut: 1, ms: 1 });
  metrics.webhookAttempt('ack');
  const none = { found: 0, weak: 0, none: 0, rows: 0, used: 0 };
  metrics.recalled({ ...none, found: 1, rows: 2 }, none);
  metrics.setJobs([{ type: 'atomise', state: 'failed', count: 1 }]);
  metrics.mesh.status(meshStatus('peer-a'));
  metrics.mesh.host(0, 0);
  metrics.mesh.event({ kind: 'quorum', met: false, ms: 1 });
  metrics.mesh.event({ kind: 'compared', peerId: 'peer-a', comparison: 'failed', repaired: 0 });
  metrics.showHooks({
    dropped: 0,
    report: () => [
      {
        ...{ index: 0, event: 'pre_store', command: '/bin/true', mode: 'exec', priority: 0, namespace: '*' },
        ...{ fail_mode: 'open', timeout_ms: 1, events_fired: 1, events_dropped: 1, timeouts: 0, denied: 0 },
        ...{ mean_latency_us: 1, last_problem: null },
      },
    ],
  });
  const series = new Map<string, Set<string>>([[OF_PROMETHEUS.series, new Set()]]);
  for (const line of (await metrics.render()).split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = series.get(name) ?? new Set();
    series.set(name, known);
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!);
  }
  return series;
}

/** What is wrong with a query: its syntax, a series that no node has, a label that the series has not. */
function problemsOf(text: string, series: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const problems: string[] = [];
  const grouped: string[] = [];
  let labels: ReadonlySet<string> = new Set();
  let isGroup = false;
  const known = (label: string) => labels.has(label) || OF_PROMETHEUS.labels.includes(label);
  parser.parse(text).iterate({
    enter: ({ name, from, to, type }) => {
      const word = text.slice(from, to);
      if (type.isError) problems.push(`a mistake before "${text.slice(from)}"`);
      if (name === 'GroupingLabels') isGroup = true;
      if (name === 'VectorSelector') isGroup = false;
      if (name === 'Identifier') {
        if (!series.has(word)) problems.push(`no node has ${word}`);
        labels = series.get(word) ?? new Set();
        problems.push(...grouped.filter((label) => !known(label)).map((label) => `${word} has no ${label}`));
      }
      if (name !== 'LabelName') return;
      if (isGroup) grouped.push(word);
      else if (!known(word)) problems.push(`the series has no label ${word}`);
    },
    leave: ({ name }) => {
      if (name === 'AggregateExpr') grouped.length = 0;
    },
  });
  return problems;
}

describe('the dashboard and the alerts', () => {
  for (const [what, queries] of [
    ['dashboard', dashboardQueries()],
    ['alerts', alertQueries()],
  ] as const) {
    it(`ask in the ${what} for series and labels that a node has`, async () => {
      assert.ok(queries.length > 20);
      const series = await seriesOfNode();
      const wrong = queries.flatMap(({ of, text }) =>
        problemsOf(text, series).map((problem) => `${of}: ${problem}`),
      );
      assert.deepEqual(wrong, []);
    });
  }

  it('are found wrong where they are', async () => {
    const series = await seriesOfNode();
    assert.deepEqual(problemsOf('sum by (peer) (rate(svc_requests_total[5m])', series).length, 2);
    assert.deepEqual(problemsOf('svc_nothing > 1', series), ['no node has svc_nothing']);
    assert.deepEqual(problemsOf('svc_peer_up{name="x"}', series), ['the series has no label name']);
    assert.deepEqual(problemsOf('up{job="x"} == 0', series), []);
  });
});
