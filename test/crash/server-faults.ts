import assert from 'node:assert/strict';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import { auditDatabase } from '../support/log-audit.js';
import { PostgresServer } from '../support/postgres-server.js';
import { ServerDaemons } from '../support/server-daemons.js';
import { until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';
import { Client, QUOTA, refusedMs, Told } from './server-clients.js';

const CLIENTS = 8;
const VICTIMS = ['a', 'b', 'server'] as const;
/** How long a victim is away. */
const AWAY_MS = 400;
/** How long everybody works before the next victim. */
const WORK_MS = 800;
/** No request waits longer than this for a server that is gone. */
const REFUSED_WITHIN_MS = 10_000;

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Two daemons and eight clients on one database of a server. In each round a daemon or the server is killed without warning. At
 * the end everything that was acknowledged is there, and nothing was given twice.
 */
export async function serverFaults(rounds: number): Promise<Record<string, number>> {
  const server = await PostgresServer.startOwn(['max_connections=60', 'fsync=on']);
  const daemons = new ServerDaemons(server, await server.database(), {
    SVC_MAX_MEMORIES_PER_DAY: String(QUOTA),
    ...{ SVC_ADMIN_AGENT_IDS: 'ai:admin', SVC_ADMIN_HEADER_TRUST: '1' },
  });
  try {
    return await withDaemons(server, daemons, rounds);
  } finally {
    await daemons.stop();
    await server.stop();
  }
}

async function withDaemons(
  server: PostgresServer,
  daemons: ServerDaemons,
  rounds: number,
): Promise<Record<string, number>> {
  const { base } = await daemons.start('a');
  await daemons.start('b');
  const shared = { ...(await makeShared(base)), round: 0 };
  const told = new Told();
  const bases = () => [...daemons.running.values()].map((each) => each.base);
  const clients = Array.from({ length: CLIENTS }, (_, n) => new Client(n, bases, shared, told));
  const working = Promise.all(clients.map((client) => client.work()));
  for (let round = 0; round < rounds; round += 1) {
    shared.round = round;
    await rest(WORK_MS);
    const before = told.stored.length;
    await fault(server, daemons, VICTIMS[round % VICTIMS.length]!);
    await until('the clients go on', () => told.stored.length >= before + CLIENTS, { withinMs: 60_000 });
    for (const [name, { child, errors }] of daemons.running)
      assert.equal(child.exitCode, null, `${name} ended: ${errors()}`);
  }
  for (const client of clients) client.stop();
  await working;
  await check(daemons, shared.counter, told);
  const count = async (table: string) =>
    Number((await daemons.ask(`SELECT count(*) AS n FROM ${table}`))[0]!['n']);
  return {
    rounds,
    calls: told.calls,
    stored: told.stored.length,
    counted: told.counted.done,
    leases: told.leases.size,
    audited: await count('signed_events'),
    operations: await count('operations'),
    'slowest refusal, ms': Math.round(Math.max(0, ...refusedMs)),
  };
}

async function fault(server: PostgresServer, daemons: ServerDaemons, victim: (typeof VICTIMS)[number]) {
  if (victim === 'server') {
    await server.kill();
    await rest(AWAY_MS);
    await server.restart();
    return;
  }
  await daemons.kill(victim);
  await rest(AWAY_MS);
  await daemons.start(victim);
}

/** A number that all clients change, and an action whose lease all want. */
async function makeShared(base: string): Promise<{ readonly counter: string; readonly action: string }> {
  const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:shared' };
  const response = await fetch(`${base}/memories`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ title: 'counter', content: '0', namespace: 'counters', scope: 'collective' }),
  });
  const { id } = (await response.json()) as { id: string };
  const call = async (message: unknown, more: Record<string, string> = {}) =>
    fetch(`${base.replace('/api/v1', '/mcp')}?profile=full`, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream', ...more },
      body: JSON.stringify(message),
    });
  const opened = await call({
    ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  await opened.text();
  const made = await call(
    {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        name: 'memory_action_create',
        arguments: { namespace: 'team', kind: 'work', title: 'do it' },
      },
    },
    { 'mcp-session-id': opened.headers.get('mcp-session-id')! },
  );
  const action = /"structuredContent":\{"id":"([^"]+)/.exec(await made.text())?.[1];
  assert.ok(action !== undefined, 'an action is made');
  return { counter: id, action };
}

async function check(daemons: ServerDaemons, counter: string, told: Told): Promise<void> {
  assert.deepEqual(told.wrong, [], daemons.errors());
  const ids = new Set((await daemons.ask('SELECT id FROM memories')).map(({ id }) => id));
  assert.deepEqual(
    told.stored.filter((id) => !ids.has(id)),
    [],
    'acknowledged stores that are not there',
  );
  for (const [title, takers] of told.titles) assert.ok(takers.length <= 1, `${title}: ${takers}`);
  for (const [namespace, spent] of told.spent) assert.ok(spent <= QUOTA, `${namespace}: ${spent}`);
  const spent = await daemons.ask(
    "SELECT namespace, count(*) AS n FROM memories WHERE namespace LIKE 'quota/%' GROUP BY namespace",
  );
  for (const { namespace, n } of spent) assert.ok(Number(n) <= QUOTA, `${String(namespace)}: ${String(n)}`);
  const [{ content }] = (await daemons.ask(`SELECT content FROM memories WHERE id = '${counter}'`)) as [
    { content: string },
  ];
  const { done, unknown } = told.counted;
  assert.ok(
    Number(content) >= done && Number(content) <= done + unknown,
    `the counter is ${content} after ${done} changes and ${unknown} whose outcome is unknown`,
  );
  assert.ok(Math.max(0, ...refusedMs) < REFUSED_WITHIN_MS, `a refusal took ${Math.max(...refusedMs)} ms`);
  const db = new PostgresConnection({ url: daemons.url, statementTimeoutMs: 60_000, readOnly: true });
  try {
    assert.deepEqual(auditDatabase(db), []);
  } finally {
    db.close();
  }
  const home = daemons.running.get('a')!.home;
  const env = daemons.environment(home);
  const chain = await run(home, ['verify-signed-events-chain', '--json'], { env });
  assert.equal(chain.code, 0, chain.out + chain.err);
}
