import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EventListener } from '../support/event-listener.js';
import { until } from '../support/wait.js';
import { ProcessMesh } from './processes/process-mesh.js';
import type { ProcessNode } from './processes/process-node.js';

/** Messages between agents of two nodes. */

const PATIENT = { withinMs: 60_000 } as const;
const [ALICE, BOB, EVE] = ['ai:alice', 'ai:bob', 'ai:eve'];
type Row = Record<string, unknown>;
/** Also while the other node cannot be reached: then it gets the write later. */
const isStored = ({ status }: { readonly status: number }) => status === 201 || status === 202;

describe('messages in a mesh', { timeout: 180_000 }, () => {
  let mesh: ProcessMesh;
  let one: ProcessNode;
  let two: ProcessNode;
  before(async () => {
    mesh = await ProcessMesh.form(2);
    [one, two] = [mesh.nodes[0]!, mesh.nodes[1]!];
    await mesh.drain(60_000);
  });
  after(() => mesh.close());

  async function call({ base }: ProcessNode, agent: string, method: string, path: string, body?: unknown) {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Row };
  }
  const inbox = async (node: ProcessNode, agent: string) =>
    (await call(node, agent, 'GET', '/inbox')).body['messages'] as Row[];
  const notify = async (node: ProcessNode, title: string) => {
    const body = { target_agent_id: BOB, title, payload: 'text' };
    const sent = await call(node, ALICE, 'POST', '/notify', body);
    assert.ok(isStored(sent), JSON.stringify(sent.body));
    return String(sent.body['id']);
  };
  const messageOn = async (node: ProcessNode, id: string) =>
    (await inbox(node, BOB)).find((message) => message['id'] === id);

  it('are sent on one node and read on the other, and the receipt comes back', async () => {
    const listener = await EventListener.open(two.base, BOB, { path: '/inbox/stream' });
    const id = await notify(one, 'across');
    await until('the message is there', async () => (await messageOn(two, id)) !== undefined, PATIENT);
    const [event] = await listener.heard(1);
    assert.deepEqual([event!.data['id'], event!.data['from']], [id, ALICE]);
    listener.close();
    assert.deepEqual(await inbox(two, EVE), []);
    assert.equal((await call(two, EVE, 'GET', `/memories/${id}`)).status, 404);
    assert.equal((await call(two, BOB, 'POST', '/inbox/read', { ids: [id] })).body['marked'], 1);
    await until('the receipt is there', async () => (await messageOn(one, id))?.['read'] === true, PATIENT);
  });

  it('with one title, sent on both at the same time, are both there', async () => {
    const ids = await Promise.all([notify(one, 'same'), notify(two, 'same')]);
    for (const node of [one, two]) {
      for (const id of ids)
        await until('the message is there', async () => (await messageOn(node, id)) !== undefined, PATIENT);
    }
    assert.deepEqual(JSON.parse(await one.must(['mesh', 'conflicts', '--json'])), {
      conflicts: [],
      count: 0,
    });
  });

  it('stay read after a restart, and go on both when they are deleted on one', async () => {
    const [read, unread] = [await notify(one, 'read'), await notify(one, 'unread')];
    assert.equal((await call(one, BOB, 'POST', '/inbox/read', { ids: [read] })).body['marked'], 1);
    await one.end('SIGKILL');
    await one.start();
    assert.equal((await messageOn(one, read))?.['read'], true);
    assert.equal((await messageOn(one, unread))?.['read'], false);
    await until('the receipt is there', async () => (await messageOn(two, read))?.['read'] === true, PATIENT);
    assert.ok((await call(two, BOB, 'DELETE', `/memories/${read}`)).status < 300);
    await until('the message is gone', async () => (await messageOn(one, read)) === undefined, PATIENT);
  });

  it('and a memory that is shared on both at the same time makes one copy', async () => {
    const body = { title: 'to share', content: 'shared text', namespace: 'plans' };
    const stored = await call(one, ALICE, 'POST', '/memories', { ...body, metadata: { scope: 'private' } });
    const id = String(stored.body['id'] ?? (stored.body['memory'] as Row | undefined)?.['id']);
    assert.ok(isStored(stored), JSON.stringify(stored.body));
    const on = (node: ProcessNode) => call(node, ALICE, 'GET', `/memories/${id}`);
    await until('the memory is there', async () => (await on(two)).status === 200, PATIENT);
    const sharing = { source_memory_id: id, target_agent_id: BOB };
    const copies = await Promise.all([one, two].map((node) => call(node, ALICE, 'POST', '/share', sharing)));
    const [first, second] = copies.map(({ body }) => body['shared_memory_id']);
    assert.ok(first !== undefined && first === second, JSON.stringify(copies));
    for (const node of [one, two])
      assert.equal((await call(node, BOB, 'GET', `/memories/${first}`)).status, 200);
  });

  it('leave databases that agree with their logs', () => mesh.end());
});
