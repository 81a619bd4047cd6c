import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { APPROVER, ASK, GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';

type Fields = Record<string, unknown>;

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start();
});
after(() => node.end());

const list = async (query: string, who = APPROVER): Promise<Fields> => {
  const { status, body } = await node.call(who, 'GET', `/pending?namespace=${ASK}&${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Fields;
};
const idsOf = ({ pending }: Fields) => (pending as Fields[]).map(({ id }) => id);

it('pending actions are listed by cursors, each once, whatever is requested or decided meanwhile', async () => {
  for (let n = 0; n < 5; n += 1) await node.request(`row ${n}`);
  const whole = idsOf(await list('limit=100'));
  assert.equal(whole.length, 5);
  const first = await list('limit=2');
  assert.deepEqual(idsOf(first), whole.slice(0, 2));
  await node.request('later');
  await node.decide(String(whole[0]), 'approve');
  const second = await list(`limit=2&cursor=${first['next_cursor']}`);
  assert.deepEqual(idsOf(second), whole.slice(2, 4));
  const third = await list(`limit=2&cursor=${second['next_cursor']}`);
  assert.deepEqual(idsOf(third), whole.slice(4));
  assert.equal(third['next_cursor'], undefined);

  const { status, body } = await node.call(
    APPROVER,
    'GET',
    `/pending?namespace=${ASK}&status=pending&cursor=${first['next_cursor']}`,
  );
  assert.deepEqual([status, (body as Fields)['fields']], [400, ['cursor']]);
  assert.deepEqual(idsOf(await list(`cursor=${first['next_cursor']}`, 'ai:stranger')), []);
  assert.ok(idsOf(await list(`cursor=${first['next_cursor']}`, REQUESTER)).length > 0);
});
