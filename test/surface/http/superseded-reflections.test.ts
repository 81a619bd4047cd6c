import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OPERATOR } from '../../support/memories.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** Whoever reflects on a reflection hears that another one supersedes it. */

type Json = Record<string, unknown>;
const API = '/api/v1';

let node: HttpNode;
beforeEach(async () => {
  node = await openHttpNode({});
});
afterEach(() => node.close());

async function send(
  agent: string,
  status: number,
  method: string,
  path: string,
  body?: object,
): Promise<Json> {
  const answer = await node.send(method, `${API}${path}`, body, { 'x-agent-id': agent });
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}

const store = async (agent: string, title: string, more: object = {}) => {
  const body = { title, content: `about ${title}`, namespace: 'team/alpha', ...more };
  return String((await send(agent, 201, 'POST', '/memories', body))['id']);
};
const reflection = (agent: string, title: string, more: object = {}) =>
  store(agent, title, { kind: 'reflection', ...more });
const link = (agent: string, source_id: string, relation: string, target_id: string) =>
  send(agent, 201, 'POST', '/links', { source_id, target_id, relation });

/** What an agent was told: which reflection was superseded by which, and what of its own reflects on it. */
async function told(agent: string) {
  const { messages } = await send(agent, 200, 'GET', '/inbox');
  const shown = (messages as Json[]).map(async ({ id }) => {
    const { memory } = (await send(agent, 200, 'GET', `/memories/${String(id)}`)) as { memory: Json };
    const { invalidated_id, invalidating_id, dependent_ids } = memory['metadata'] as Json;
    return { from: (memory['metadata'] as Json)['agent_id'], invalidated_id, invalidating_id, dependent_ids };
  });
  return Promise.all(shown);
}

async function noted(): Promise<number> {
  const page = await node.services.store.query({ kind: 'audit-rows', after: 0, limit: 1000 });
  assert.ok(page.ok);
  const types = page.value.rows.map(({ event_type }) => event_type);
  return types.filter((type) => type === 'reflection.invalidation_notified').length;
}

describe('a reflection that supersedes another one', () => {
  it('is told to the owners of what reflects on it, once, in a message and in the audit chain', async () => {
    const before = await reflection('ai:alice', 'before');
    const after = await reflection('ai:alice', 'after');
    const own = await store('ai:alice', 'of alice');
    const ofBob = await store('ai:bob', 'of bob');
    const apart = await store('ai:carol', 'of carol');
    await link('ai:alice', own, 'reflects_on', before);
    await link('ai:bob', ofBob, 'reflects_on', before);
    await link('ai:carol', apart, 'related_to', before);
    const answer = await link('ai:alice', after, 'supersedes', before);
    assert.deepEqual((answer['invalidation_notified'] as string[]).toSorted(), [own, ofBob].toSorted());
    const expected = { from: 'ai:alice', invalidated_id: before, invalidating_id: after };
    assert.deepEqual(await told('ai:bob'), [{ ...expected, dependent_ids: [ofBob] }]);
    assert.deepEqual(await told('ai:alice'), [{ ...expected, dependent_ids: [own] }]);
    assert.deepEqual(await told('ai:carol'), []);
    assert.equal(await noted(), 2);
    const again = await link('ai:alice', after, 'supersedes', before);
    assert.deepEqual([again['created'], again['invalidation_notified']], [false, []]);
    assert.equal((await told('ai:bob')).length, 1);
  });

  it('is told also where it wins a contradiction', async () => {
    const [winnerId, loserId] = [
      await reflection('ai:alice', 'right'),
      await reflection('ai:alice', 'wrong'),
    ];
    const ofBob = await store('ai:bob', 'of bob');
    await link('ai:bob', ofBob, 'reflects_on', loserId);
    const command = { kind: 'resolve-memories', winnerId, loserId, viewer: OPERATOR } as const;
    assert.ok((await node.services.store.execute(command)).ok);
    const expected = { from: 'ai:alice', invalidated_id: loserId, invalidating_id: winnerId };
    assert.deepEqual(await told('ai:bob'), [{ ...expected, dependent_ids: [ofBob] }]);
  });

  it('shows nobody what is private', async () => {
    const before = await reflection('ai:alice', 'before');
    const after = await reflection('ai:alice', 'after');
    const hidden = await reflection('ai:alice', 'hidden', { scope: 'private' });
    const secret = await store('ai:bob', 'secret', { scope: 'private' });
    const open = await store('ai:bob', 'open');
    for (const id of [secret, open]) await link('ai:bob', id, 'reflects_on', before);
    const unseen = await link('ai:alice', hidden, 'supersedes', before);
    assert.deepEqual(unseen['invalidation_notified'], []);
    const seen = await link('ai:alice', after, 'supersedes', before);
    assert.deepEqual(seen['invalidation_notified'], [open]);
    const messages = await told('ai:bob');
    assert.deepEqual(
      messages.map(({ dependent_ids }) => dependent_ids),
      [[open]],
    );
  });

  it('is no other link, and no link between other memories', async () => {
    const one = await reflection('ai:alice', 'one');
    const two = await reflection('ai:alice', 'two');
    const [plain, other] = [await store('ai:alice', 'plain'), await store('ai:alice', 'other')];
    for (const target of [one, plain]) {
      const dependent = await store('ai:bob', `on ${target}`);
      await link('ai:bob', dependent, 'reflects_on', target);
    }
    for (const [source, relation, target] of [
      [two, 'contradicts', one],
      [other, 'supersedes', plain],
      [other, 'supersedes', one],
      [one, 'supersedes', two],
    ] as const)
      assert.deepEqual(
        (await link('ai:alice', source, relation, target))['invalidation_notified'],
        [],
        relation,
      );
    assert.deepEqual(await told('ai:bob'), []);
    assert.equal(await noted(), 0);
  });

  it('does not let its link pass a gate by what it tells', async () => {
    const before = await reflection('ai:alice', 'before');
    const after = await reflection('ai:alice', 'after');
    const ofBob = await store('ai:bob', 'of bob');
    await link('ai:bob', ofBob, 'reflects_on', before);
    const set = await node.services.store.execute({
      ...{ kind: 'set-standard', namespace: '_messages', viewer: OPERATOR },
      governance: { write: 'approve', approver: 'human' },
    } as never);
    assert.ok(set.ok, JSON.stringify(set));
    const answer = await link('ai:alice', after, 'supersedes', before);
    assert.deepEqual(answer['invalidation_notified'], [ofBob]);
  });
});
