import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { aMemory, storing, updating } from '../../support/memories.js';
import { type Replica, replica } from '../../support/replicas.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const ROOT = { 'x-agent-id': 'ai:root' };
const memory = aMemory({ title: 'window', tier: 'long', expires_at: null });

let [here, there]: Replica[] = [];
let node: HttpNode;

/** Two replicas that edited one memory at the same time; the later edit was made here. */
before(async () => {
  const nowMs = Date.now();
  [here, there] = [replica('a', nowMs), replica('b', nowMs)];
  await here.run(storing(memory));
  await there.apply(await here.read());
  await there.run(updating(memory.id, { content: 'Tuesdays' }));
  here.nowMs += 1000;
  await here.run(updating(memory.id, { content: 'Mondays' }));
  await here.apply(await there.read());
  const { store } = here;
  node = await openHttpNode(
    { adminAgentIds: ['ai:root'], adminHeaderTrust: true },
    { wrap: (services) => ({ ...services, store }) },
  );
});
after(() => node.close());

const listed = async () =>
  (await node.send('GET', '/api/v1/conflicts', undefined, ROOT)).json!['conflicts'] as Record<
    string,
    unknown
  >[];

test('an admin takes back an edit of another agent that lost, once', async () => {
  const [conflict, ...others] = await listed();
  assert.equal(others.length, 0);
  const body = { id: memory.id, op_id: conflict!['op_id'] };
  const take = (headers: Record<string, string>, asked: object = body) =>
    node.send('POST', '/api/v1/conflicts/take', asked, headers);
  assert.equal((await take({ 'x-agent-id': 'ai:alice' })).json!['code'], 'ADMIN_REQUIRED');
  assert.equal((await take(ROOT, { ...body, op_id: `${body.op_id}0` })).json!['code'], 'NOT_FOUND');
  const taken = await take(ROOT);
  assert.equal(taken.status, 200, taken.text);
  assert.deepEqual(taken.json!['changed'], ['content']);
  assert.equal((taken.json!['memory'] as Record<string, unknown>)['content'], 'Tuesdays');
  assert.deepEqual(await listed(), []);
  assert.equal((await take(ROOT)).json!['code'], 'NOT_FOUND', 'it is settled');
});
