// Runs alone: it measures how long calls take beside a collector that hangs.
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { TestCollector } from '../support/collector.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { until } from '../support/wait.js';
import { run } from './cli/cli-process.js';
import { McpProcess } from './mcp/mcp-process.js';

const closing: (() => Promise<unknown>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

async function collectorAt(port = 0) {
  const collector = new TestCollector();
  const url = await collector.listen(port);
  closing.push(() => collector.close());
  return { collector, url };
}

/** A daemon that sends to an address; `more` are further lines of its section. */
async function daemonTo(
  url: string | null,
  more: readonly string[] = [],
  home = temporaryFolder('telemetry'),
) {
  const lines = url === null ? more : [`otlp_endpoint = "${url}"`, ...more];
  writeFileSync(join(home, 'config.toml'), `schema_version = 2\n[telemetry]\n${lines.join('\n')}\n`);
  chmodSync(join(home, 'config.toml'), 0o600);
  const daemon = await startDaemonProcess(home, await freePort(), { SVC_LOG_LEVEL: 'info' });
  closing.push(() => daemon.end('SIGKILL'));
  return daemon;
}

const post = async (
  { base }: DaemonProcess,
  path: string,
  body: object,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SECRET = 'a title that nobody may read';
const note = { title: SECRET, content: 'words of a memory', namespace: 'team/hidden', tags: ['tag-of-it'] };

describe('telemetry', () => {
  it('sends a span for each call over HTTP, MCP and from peers, without content, at the latest when the node stops', async () => {
    const { collector, url } = await collectorAt();
    const daemon = await daemonTo(url);
    const traced = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-agent-id': 'ai:hidden-agent' };
    assert.equal((await post(daemon, '/memories', note, traced)).status, 201);
    // A parent that is none, and one whose program keeps nothing of the trace.
    assert.equal(
      (await fetch(`${daemon.base}/memories?limit=1`, { headers: { traceparent: '00-zz-1-01' } })).status,
      200,
    );
    const unsampled = { traceparent: `00-${'b'.repeat(32)}-${'c'.repeat(16)}-00` };
    assert.equal((await fetch(`${daemon.base}/search?q=deploy`, { headers: unsampled })).status, 200);
    assert.equal((await fetch(`${daemon.base}/memories/00000000-0000-4000-8000-000000000000`)).status, 404);
    const refused = await post(daemon, '/sync/push', { sender: 'nobody' }, traced);
    const bulk = await post(daemon, '/memories/bulk', [
      { ...note, title: 'one' },
      { ...note, title: 'two' },
    ]);
    assert.ok(bulk.status < 300, bulk.text);
    await callOverMcp(daemon);
    assert.equal(await daemon.end('SIGTERM'), 0);

    const { spans } = collector;
    const named = (name: string) => spans.filter((span) => span.name === name);
    const [store] = named('memory_store').filter(({ traceId }) => traceId === TRACE);
    assert.deepEqual(store?.attributes, {
      'svc.operation': 'memory_store',
      'svc.surface': 'http',
      'svc.outcome': 'OK',
    });
    assert.equal(store.parentSpanId, PARENT);
    assert.ok(BigInt(store.endTimeUnixNano) > BigInt(store.startTimeUnixNano));
    const [listed] = named('memory_list');
    assert.equal(listed?.parentSpanId, undefined);
    assert.equal(named('memory_search').length, 0);
    assert.equal(named('memory_get')[0]?.attributes['svc.outcome'], 'NOT_FOUND');
    assert.equal(named('memory_get')[0]?.status.code ?? 0, 0);
    assert.deepEqual(named('sync_push')[0]?.attributes, {
      'svc.operation': 'sync_push',
      'svc.surface': 'peer',
      'svc.outcome': `HTTP_${refused.status}`,
    });
    assert.equal(named('sync_push')[0]?.parentSpanId, PARENT);
    // The rows of a call belong to its span.
    assert.equal(named('memory_store').length, 1 + 1);
    const byMcp = spans.filter(({ attributes }) => attributes['svc.surface'] === 'mcp');
    assert.deepEqual(byMcp.map(({ name, parentSpanId }) => [name, parentSpanId]).sort(), [
      ['memory_recall', PARENT],
      ['memory_store', '1'.repeat(16)],
    ]);
    assert.equal(collector.resources[0]?.['service.name'], 'mnemesh');
    for (const word of [SECRET, 'words of a memory', 'team/hidden', 'tag-of-it', 'hidden-agent'])
      assert.ok(!collector.bodies.some((body) => body.includes(word)), word);
  });

  it('takes the parent of a call that an MCP server or a command passes to the daemon', async () => {
    const { collector, url } = await collectorAt();
    const daemon = await daemonTo(url, ['otlp_metrics = false']);
    const server = new McpProcess({ home: daemon.home });
    const clientInfo = { name: 't', version: '1' };
    await server.request(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    const call = (id: number, context: string, traceparent: string) =>
      server.request(id, 'tools/call', {
        ...{ name: 'memory_recall', arguments: { context } },
        _meta: { traceparent },
      });
    await call(2, 'deploy', `00-${TRACE}-${PARENT}-01`);
    await call(3, 'deploy', 'x'.repeat(5_000));
    assert.equal(await server.end(), 0);
    assert.equal((await run(daemon.home, ['list'])).code, 0);
    assert.equal(await daemon.end('SIGTERM'), 0);
    const seen = collector.spans.map(({ name, parentSpanId, attributes }) => [
      name,
      attributes['svc.surface'],
      parentSpanId,
    ]);
    assert.deepEqual(seen, [
      ['memory_recall', 'mcp', PARENT],
      ['memory_recall', 'mcp', undefined],
      ['memory_list', 'cli', undefined],
    ]);
  });

  it('sends the figures of /metrics, from the same registry', async () => {
    const { collector, url } = await collectorAt();
    const daemon = await daemonTo(url, ['otlp_traces = false', 'otlp_metrics_interval_secs = 1']);
    for (let index = 0; index < 3; index += 1) await fetch(`${daemon.base}/memories?limit=1`);
    const at = (name: string, labels: Record<string, unknown>) =>
      collector.metrics
        .find((metric) => metric.name === name)
        ?.points.find(({ attributes }) =>
          Object.entries(labels).every(([key, value]) => attributes[key] === value),
        );
    await until(
      'the collector has the requests',
      () => (at('svc_requests_total', { operation: 'memory_list' })?.asDouble ?? 0) === 3,
    );
    const text = await (await fetch(`${daemon.base}/metrics`)).text();
    const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    for (const { name } of collector.metrics) assert.ok(shown.has(name), name);
    assert.match(text, /svc_requests_total\{operation="memory_list",status="200"\} 3/);
    const requests = collector.metrics.find(({ name }) => name === 'svc_requests_total');
    assert.deepEqual([requests?.kind, requests?.monotonic], ['sum', true]);
    const took = at('svc_request_duration_seconds', { operation: 'memory_list' });
    assert.equal(took?.count, 3);
    assert.equal(
      took.bucketCounts?.reduce((sum, count) => sum + count, 0),
      3,
    );
    assert.equal(took.bucketCounts?.length, (took.explicitBounds?.length ?? 0) + 1);
    assert.ok((took.sum ?? 0) > 0);
    assert.ok(shown.has('process_cpu_seconds_total') && at('process_cpu_seconds_total', {}) !== undefined);
    assert.equal(collector.spans.length, 0);
    assert.equal(await daemon.end('SIGTERM'), 0);
  });

  it('sends the headers of a file and shows them nowhere; otlp_metrics and otlp_trace_ratio act', async () => {
    const { collector, url } = await collectorAt();
    const home = temporaryFolder('telemetry-headers');
    writeFileSync(join(home, 'otlp.key'), 'authorization=Bearer%20hush-hush,x-team=blue\n', { mode: 0o400 });
    const more = ['api_key_file = "otlp.key"', 'otlp_metrics = false', 'otlp_trace_ratio = 0'];
    const daemon = await daemonTo(url, more, home);
    await fetch(`${daemon.base}/search?q=deploy`);
    await fetch(`${daemon.base}/memories`, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.deepEqual(
      collector.spans.map(({ name }) => name),
      ['memory_list'],
    );
    assert.deepEqual(collector.metrics, []);
    assert.equal(collector.headers[0]?.authorization, 'Bearer hush-hush');
    assert.equal(collector.headers[0]?.['x-team'], 'blue');
    assert.ok(!daemon.errors().includes('hush-hush'));
  });

  it('says once that the collector is away and once that it is back, and loses no call', async () => {
    const { collector, url } = await collectorAt();
    collector.answer = (response) => response.writeHead(500).end('a secret of the collector');
    const daemon = await daemonTo(url, ['otlp_metrics_interval_secs = 1']);
    const away = () => daemon.errors().match(/the collector does not take telemetry/g)?.length ?? 0;
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await fetch(`${daemon.base}/search?q=deploy`)).status, 200);
      const { length } = collector.bodies;
      await until('the collector was asked again', () => collector.bodies.length > length + 1);
    }
    assert.equal(away(), 1, daemon.errors());
    assert.match(daemon.errors(), /"cause":"status 500"/);
    assert.ok(!daemon.errors().includes('a secret of the collector'));
    collector.answer = (response) => response.writeHead(200).end('{}');
    await fetch(`${daemon.base}/search?q=deploy`);
    await until('the node says that it is back', () => daemon.errors().includes('takes telemetry again'));
    assert.equal(away(), 1);
    assert.equal(await daemon.end('SIGTERM'), 0);
  });

  it('neither slows calls nor holds the end for a collector that hangs', async () => {
    const { collector, url } = await collectorAt();
    collector.answer = () => undefined;
    const daemon = await daemonTo(url, ['otlp_metrics_interval_secs = 1']);
    const began = performance.now();
    for (let index = 0; index < 3_000; index += 30) {
      const calls = Array.from({ length: 30 }, () => fetch(`${daemon.base}/search?q=deploy`));
      for (const answer of await Promise.all(calls)) {
        assert.equal(answer.status, 200);
        await answer.arrayBuffer();
      }
    }
    const took = performance.now() - began;
    assert.ok(took < 20_000, `3,000 calls took ${took} ms`);
    assert.ok(collector.bodies.length > 0);
    const stopping = performance.now();
    assert.equal(await daemon.end('SIGTERM'), 0);
    const stopped = performance.now() - stopping;
    assert.ok(stopped < 8_000, `the end took ${stopped} ms`);
  });

  it('sends nothing unless an endpoint is set, whatever the variables of other programs say', async () => {
    const { collector, url } = await collectorAt();
    const daemon = await startDaemonProcess(temporaryFolder('telemetry-off'), await freePort(), {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
    });
    closing.push(() => daemon.end('SIGKILL'));
    await fetch(`${daemon.base}/search?q=deploy`);
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.deepEqual(collector.bodies, []);
  });
});

/** Two calls: one with the parent in its message, one with that of its request. */
async function callOverMcp(daemon: DaemonProcess): Promise<void> {
  const accept = { accept: 'application/json, text/event-stream' };
  const rpc = (id: number | null, method: string, params: object) => ({
    jsonrpc: '2.0',
    ...(id === null ? {} : { id }),
    method,
    params,
  });
  const clientInfo = { name: 't', version: '1' };
  const initialize = rpc(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  const opened = await post(daemon, '/../../mcp', initialize, accept);
  assert.equal(opened.status, 200, opened.text);
  const session = { ...accept, 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  const header = { ...session, traceparent: `00-${TRACE}-${PARENT}-01` };
  await post(daemon, '/../../mcp', rpc(null, 'notifications/initialized', {}), session);
  const _meta = { traceparent: `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01` };
  const store = { name: 'memory_store', arguments: { title: 'by MCP', content: 'x' }, _meta };
  assert.equal((await post(daemon, '/../../mcp', rpc(2, 'tools/call', store), header)).status, 200);
  const recall = { name: 'memory_recall', arguments: { context: 'by MCP' } };
  assert.equal((await post(daemon, '/../../mcp', rpc(3, 'tools/call', recall), header)).status, 200);
}
