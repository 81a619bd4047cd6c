import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PostgresServer, withoutOwnServer } from '../../support/postgres-server.js';
import { ServerDaemons } from '../../support/server-daemons.js';
import { until, untilAnswer } from '../../support/wait.js';

describe('a daemon whose database server is gone', { skip: withoutOwnServer }, () => {
  let server: PostgresServer;
  let daemons: ServerDaemons;
  let base: string;
  before(async () => {
    server = await PostgresServer.startOwn();
    daemons = new ServerDaemons(server, await server.database());
    ({ base } = await daemons.start('a'));
    await server.kill();
  });
  after(async () => {
    await daemons.stop();
    await server.stop();
  });

  const send = async (path: string, body: unknown) => {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  const saysOfDatabase = async (expected: RegExp) =>
    until('the metrics say so', async () => expected.test(await (await fetch(`${base}/metrics`)).text()));
  const rows = ['one', 'two'].map((title) => ({ title, content: 'a text' }));

  it('answers 503 to a memory and to a bulk of them, and stores both when the server is back', async () => {
    for (const [path, body] of [
      ['/memories', rows[0]],
      ['/memories/bulk', rows],
    ] as const) {
      const { status, json } = await send(path, body);
      assert.deepEqual([status, json['code']], [503, 'UNAVAILABLE'], path);
    }
    await saysOfDatabase(/^svc_database_reachable 0$/m);
    await server.restart();
    const stored = await untilAnswer(
      'the bulk is stored',
      () => send('/memories/bulk', rows),
      ({ status }) => status === 200,
    );
    assert.equal(stored.json['created'], 2);
    await saysOfDatabase(/^svc_database_reachable 1$/m);
    await saysOfDatabase(/^svc_database_size_bytes [1-9]\d{6,}$/m);
  });
});
