import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ProcessMesh } from '../mesh/processes/process-mesh.js';
import { freePort, temporaryFolder } from '../support/daemon-process.js';
import { event, until } from '../support/wait.js';
import { alertQueries, dashboardQueries, type MonitoringQuery, RULES_FILE } from './monitoring-queries.js';

/** The server: `PROMETHEUS_TEST_BIN`, or Debian's package `prometheus`. */
const PROMETHEUS =
  process.env['PROMETHEUS_TEST_BIN'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'prometheus'))
    .find(existsSync);

const SCRAPE_S = 1;

interface Found {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly unknown[] };
}

describe('Prometheus on a mesh of two nodes', {
  skip: PROMETHEUS === undefined && 'no Prometheus is installed here',
  timeout: 180_000,
}, () => {
  let mesh: ProcessMesh;
  let base: string;
  let server: ReturnType<typeof spawn>;
  let said = '';

  before(async () => {
    mesh = await ProcessMesh.form(2);
    const home = temporaryFolder('prometheus');
    const targets = mesh.nodes.map(({ apiPort }) => `127.0.0.1:${apiPort}`);
    const config = {
      global: { scrape_interval: `${SCRAPE_S}s`, evaluation_interval: `${SCRAPE_S}s` },
      rule_files: [RULES_FILE],
      scrape_configs: [{ job_name: 'mnemesh', static_configs: [{ targets }] }],
    };
    const file = join(home, 'prometheus.yml');
    writeFileSync(file, JSON.stringify(config));
    const port = await freePort();
    base = `http://127.0.0.1:${port}/api/v1`;
    const flags = [`--config.file=${file}`, `--storage.tsdb.path=${home}/data`];
    server = spawn(PROMETHEUS!, [...flags, `--web.listen-address=127.0.0.1:${port}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server.stderr!.on('data', (bytes: Buffer) => {
      said = (said + String(bytes)).slice(-4000);
    });
    await until('both nodes were read', async () => (await ask('count(up == 1) == 2')).length === 1, {
      withinMs: 60_000,
      seen: () => said,
    });
  });
  after(async () => {
    const ended = event('Prometheus ends', server, 'exit');
    server.kill('SIGTERM');
    await ended;
    await mesh.end();
    await mesh.close();
  });

  async function ask(query: string): Promise<readonly unknown[]> {
    const answer = await fetch(`${base}/query?${new URLSearchParams({ query })}`).catch(() => null);
    // It begins to listen before it can answer.
    if (answer === null || answer.status === 503) return [];
    const { status, error, data } = (await answer.json()) as Found;
    assert.equal(status, 'success', `${query}: ${error}`);
    return data.result;
  }

  it('answers every query of the dashboard, and every one whose series a busy node has', async () => {
    const work = async () => {
      for (const { base: node } of mesh.nodes) {
        const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:worker' };
        const body = JSON.stringify({ title: `note ${Date.now()} ${node}`, content: 'a text' });
        await (await fetch(`${node}/memories`, { method: 'POST', headers, body })).text();
        await (await fetch(`${node}/recall?q=text`, { headers })).text();
      }
    };
    const texts = async () =>
      (
        await Promise.all(
          mesh.nodes.map(async ({ base: node }) => (await fetch(node.replace('/api/v1', '/metrics'))).text()),
        )
      ).join('\n');
    const empty = async ({ text }: MonitoringQuery) => (await ask(text)).length === 0;
    let missing: string[] = [];
    await until(
      'the dashboard has figures',
      async () => {
        await work();
        const samples = await texts();
        const isThere = ({ text }: MonitoringQuery) =>
          !/(?:status|outcome)=/.test(text) &&
          [...text.matchAll(/\b(?:svc|process|nodejs)_\w+/g)].every(([name]) =>
            new RegExp(`^${name}(?:\\{| )`, 'm').test(samples),
          );
        const wanted = dashboardQueries().filter(isThere);
        assert.ok(wanted.length > 20, String(wanted.length));
        const found = await Promise.all(wanted.map(empty));
        missing = wanted.filter((_, index) => found[index]).map(({ of }) => of);
        return missing.length === 0;
      },
      { withinMs: 60_000, everyMs: 1000, seen: () => missing.join(', ') },
    );
    for (const query of dashboardQueries()) await ask(query.text);
  });

  it('evaluates every alert, and raises none at a mesh that is well', async () => {
    const alerts = alertQueries().map(({ of }) => of);
    let seen = '';
    await until(
      'every rule was evaluated',
      async () => {
        const answer = (await (await fetch(`${base}/rules`)).json()) as {
          data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
        };
        const rules = answer.data.groups.flatMap((group) => group.rules);
        seen = JSON.stringify(rules.filter(({ health }) => health !== 'ok'));
        assert.deepEqual(rules.map(({ name }) => name).sort(), [...alerts].sort());
        return rules.every(({ health }) => health === 'ok');
      },
      { withinMs: 60_000, everyMs: 1000, seen: () => seen },
    );
    assert.deepEqual(await ask('ALERTS{alertstate="firing"}'), []);
  });

  it('raises an alert when a node is gone', async () => {
    await mesh.nodes[1]!.end('SIGKILL');
    await until(
      'the node is found missing',
      async () => (await ask('ALERTS{alertname="MnemeshDown"}')).length === 1,
      {
        withinMs: 60_000,
      },
    );
    await mesh.nodes[1]!.start();
  });
});
