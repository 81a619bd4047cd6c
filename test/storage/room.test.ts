import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { until } from '../support/wait.js';

const MAX_BYTES = 3_000_000;
const NOTE = 'the window for deployments is on Sundays '.repeat(50);

interface Room {
  readonly state: string;
  readonly used_bytes: number;
  readonly max_bytes: number;
  readonly plan: readonly { readonly step: string; readonly memories: number }[];
  readonly last: { readonly facts: { readonly removed: Record<string, number> } } | null;
}

describe('the room of the embedded database', () => {
  let daemon: DaemonProcess;
  let key = '';
  const headers = () => ({ 'content-type': 'application/json', 'x-api-key': key, 'x-agent-id': 'ai:admin' });
  const call = async (method: string, path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${daemon.base}${path}`, { method, headers: headers(), ...sent });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const room = async () => (await call('GET', '/room')).body as unknown as Room;
  let count = 0;
  const note = (tier: string) => {
    count += 1;
    return { title: `note ${count}`, content: `${count} ${NOTE}`, tier, namespace: 'room' };
  };
  const store = async (tier: string) => call('POST', '/memories', note(tier));
  const isThere = async (id: unknown) => (await call('GET', `/memories/${id}`)).status === 200;

  before(async () => {
    key = 'a-key-of-the-operator';
    daemon = await startDaemonProcess(temporaryFolder('room'), await freePort(), {
      SVC_STORAGE_MAX_BYTES: String(MAX_BYTES),
      SVC_API_KEY: key,
      SVC_ADMIN_AGENT_IDS: 'ai:admin',
      SVC_ADMIN_HEADER_TRUST: '1',
    });
  });
  after(async () => {
    await daemon.end('SIGTERM');
  });

  test('short memories go before the limit, and none that a link or a standard names', async () => {
    const linked = [await store('short'), await store('short')].map(({ body }) => body['id']);
    const standard = (await store('short')).body['id'];
    const plain = (await store('short')).body['id'];
    await call('POST', '/links', { source_id: linked[0], target_id: linked[1], relation: 'related_to' });
    const set = await call('POST', '/namespaces/room/standard', { id: standard });
    assert.ok(set.status < 300, JSON.stringify(set.body));
    await call('PUT', `/memories/${plain}`, { content: `changed ${NOTE}` });
    const { used_bytes, state, plan } = await room();
    assert.equal(state, 'enough');
    assert.deepEqual(plan.map(({ step, memories }) => [step, memories]).slice(0, 4), [
      ['history', 1],
      ['expired', 0],
      ['archived', 0],
      ['short', 1],
    ]);
    assert.ok(used_bytes < MAX_BYTES / 2);
    let now = await room();
    for (let stored = 0; now.last === null && stored < 2000; stored += 25) {
      const memories = Array.from({ length: 25 }, () => note('short'));
      const { status, body } = await call('POST', '/memories/bulk', { memories });
      assert.ok(status < 300 || status === 507, JSON.stringify(body));
      now = await room();
    }
    assert.ok(now.last !== null && now.last.facts.removed['short']! > 0, JSON.stringify(now));
    assert.ok(now.used_bytes < MAX_BYTES);
    assert.equal(await isThere(plain), false, 'the first that expires goes first');
    for (const id of [...linked, standard]) assert.equal(await isThere(id), true);
    assert.match(daemon.errors(), /make room/);
  });

  test('where nothing may go, a store is refused, a deletion is not, and then there is room again', async () => {
    const ids: unknown[] = [];
    let refused = await store('long');
    for (let n = 0; n < 2000 && refused.status === 201; n += 1) {
      ids.push(refused.body['id']);
      refused = await store('long');
    }
    assert.equal(refused.status, 507);
    assert.equal(refused.body['code'], 'STORAGE_FULL');
    assert.match(String(refused.body['error']), /max_bytes/);
    assert.equal((await room()).state, 'full');
    for (const id of ids.slice(0, 100)) {
      const deleted = await call('DELETE', `/memories/${id}`);
      assert.ok(deleted.status < 300, JSON.stringify(deleted.body));
    }
    await until('a store is taken again', async () => (await store('long')).status === 201, {
      withinMs: 60_000,
    });
    for (const id of ids.slice(100, 110)) assert.equal(await isThere(id), true, 'what was used lately stays');
  });

  test('an agent that is no admin does not see it', async () => {
    const response = await fetch(`${daemon.base}/room`, {
      headers: { ...headers(), 'x-agent-id': 'ai:other' },
    });
    assert.equal(response.status, 403);
  });
});
