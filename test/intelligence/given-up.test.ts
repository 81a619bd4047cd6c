import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { ModelServer } from '../support/model-server.js';
import { until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

describe('a call that is given up while a model thinks', { timeout: 120_000 }, () => {
  let server: ModelServer;
  let daemon: DaemonProcess;
  const home = temporaryFolder('given-up');
  before(async () => {
    server = await ModelServer.start('native');
    daemon = await startDaemonProcess(home, await freePort(), {
      ...server.environment,
      SVC_LLM_MAX_CALLS_PER_DAY: '7',
    });
  });
  after(async () => {
    await daemon.end('SIGTERM');
    await server.close();
  });
  beforeEach(() => {
    Object.assign(server, { mood: 'hang', gone: 0, asked: [] });
    server.asked.length = 0;
  });

  it('over HTTP ends the question when the client goes away', async () => {
    const body = JSON.stringify({ query: 'deploy window' });
    const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' };
    const sent = request(`${daemon.base}/expand_query`, { method: 'POST', headers });
    sent.on('error', () => undefined);
    sent.end(body);
    await until('the model is asked', () => server.asked.length === 1);
    sent.destroy();
    await until('the question ends', () => server.gone === 1);
  });

  for (const [where, given] of [
    ['in the daemon', home],
    ['in the MCP server itself', temporaryFolder('given-up-alone')],
  ] as const) {
    it(`over MCP ends the question that is asked ${where}`, async () => {
      const mcp = new McpProcess({
        home: given,
        args: ['--profile', 'full'],
        env: { ...server.environment },
      });
      const asked = { name: 'memory_expand_query', arguments: { query: 'x' } };
      mcp.send({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: asked });
      await until('the model is asked', () => server.asked.length === 1);
      mcp.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
      await until('the question ends', () => server.gone === 1);
      server.mood = 'fine';
      server.says = 'rollout';
      const next = await mcp.call(78, 'memory_expand_query', { query: 'x' });
      assert.deepEqual(JSON.parse(textOf(next)), { original: 'x', expanded_terms: ['rollout'] });
      await mcp.end();
    });
  }

  it('ends with its process', async () => {
    const mcp = new McpProcess({ home, args: ['--profile', 'full'] });
    const asked = { name: 'memory_expand_query', arguments: { query: 'x' } };
    mcp.send({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: asked });
    await until('the model is asked', () => server.asked.length === 1);
    mcp.child.kill('SIGKILL');
    await until('the question ends', () => server.gone === 1);
  });

  it('does not keep the daemon from its metrics, doctor and capabilities', async () => {
    Object.assign(server, { mood: 'fine', says: 'rollout' });
    const expanded = await run(home, ['expand', 'deploy window', '--json']);
    const { query, expanded_terms: terms } = JSON.parse(expanded.out) as Record<string, unknown>;
    assert.deepEqual([query, terms], ['deploy window', ['rollout']]);
    const text = await (await fetch(`${daemon.base}/metrics`)).text();
    assert.match(text, /svc_model_requests_total\{feature="expand_query",outcome="ok"\} 2/);
    assert.match(text, /svc_model_requests_total\{feature="expand_query",outcome="failed"\} 3/);
    assert.match(text, /svc_model_tokens_total\{feature="expand_query",direction="in"\} 22/);
    const doctor = await run(home, ['doctor', '--json'], { env: { ...server.environment } });
    const { sections } = JSON.parse(doctor.out) as { sections: { name: string; facts: string[][] }[] };
    const facts = new Map(
      sections.find(({ name }) => name === 'LLM reachability')!.facts.map(([name, value]) => [name, value]),
    );
    assert.deepEqual(
      ['llm model', 'requests today', 'failures today', 'tokens today'].map((name) => facts.get(name)),
      ['scripted', '5', '3', '22 in, 14 out'],
    );
    const answer = await fetch(`${daemon.base}/capabilities`, { headers: { 'accept-capabilities': 'v1' } });
    const { models, features } = (await answer.json()) as Record<string, Record<string, unknown>>;
    assert.equal(models!['llm'], 'scripted');
    const { query_expansion, auto_consolidation, auto_tagging, contradiction_analysis } = features!;
    assert.deepEqual(
      [query_expansion, auto_consolidation, auto_tagging, contradiction_analysis],
      [true, true, true, true],
    );
  });

  it('keeps one cap of the day for all processes on the database', async () => {
    Object.assign(server, { mood: 'fine', says: 'rollout' });
    const env = { ...server.environment, SVC_LLM_MAX_CALLS_PER_DAY: '7' };
    await daemon.end('SIGKILL');
    const results = await Promise.all([1, 2, 3, 4].map(() => run(home, ['expand', 'x', '--json'], { env })));
    assert.deepEqual(results.map(({ code }) => code).sort(), [0, 0, 75, 75]);
    const refused = results.find(({ code }) => code === 75)!;
    assert.match(refused.err + refused.out, /LLM_LIMIT/);
    assert.equal(server.asked.length, 2);
  });
});
