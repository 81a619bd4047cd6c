import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATOR } from '../../support/memories.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** What is made from memories, or takes their place, is linked to them. */

type Json = Record<string, unknown>;
const API = '/api/v1';
const alice = { 'x-agent-id': 'ai:alice' };

async function send(
  node: HttpNode,
  status: number,
  method: string,
  path: string,
  body?: object,
): Promise<Json> {
  const answer = await node.send(method, `${API}${path}`, body, alice);
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}
const store = async (node: HttpNode, title: string, namespace = 'team/alpha') =>
  String((await send(node, 201, 'POST', '/memories', { title, content: `about ${title}`, namespace }))['id']);
async function withNode(run: (node: HttpNode) => Promise<void>) {
  const node = await openHttpNode({});
  try {
    await run(node);
  } finally {
    await node.close();
  }
}
async function linksFrom(node: HttpNode, id: string) {
  const { links } = await send(node, 200, 'GET', `/links/${id}`);
  return (links as Json[])
    .filter(({ source_id }) => source_id === id)
    .map(({ relation, target_id }) => [relation, target_id]);
}

describe('what is made from memories', () => {
  it('leads to them after a consolidation', () =>
    withNode(async (node) => {
      const ids = [await store(node, 'one'), await store(node, 'two')];
      const made = await send(node, 201, 'POST', '/consolidate', {
        ids,
        title: 'both',
        namespace: 'team/alpha',
      });
      const { nodes } = await send(node, 200, 'GET', `/memories/${made['id']}/lineage`);
      const found = (nodes as Json[]).filter(({ depth }) => depth === 1);
      assert.deepEqual(found.map(({ id }) => id).sort(), ids.sort());
      assert.ok(found.every(({ relation }) => relation === 'derived_from'));
    }));

  it('leads to it after a promotion into a namespace above', () =>
    withNode(async (node) => {
      const id = await store(node, 'plan');
      const clone = '0b0e7a52-5d0e-4c39-9d0a-0f6f0c5a7e11';
      const done = await node.services.store.execute({
        ...{ kind: 'promote-memory', id, targetTier: 'long', viewer: OPERATOR },
        vertical: { toNamespace: 'team', cloneId: clone },
      });
      assert.ok(done.ok);
      assert.deepEqual(await linksFrom(node, clone), [['derived_from', id]]);
    }));

  it('supersedes the memory over which a contradiction was resolved, also when that was made anew', () =>
    withNode(async (node) => {
      const [winnerId, loserId] = [await store(node, 'right'), await store(node, 'wrong')];
      const resolving = { kind: 'resolve-memories', winnerId, loserId, viewer: OPERATOR } as const;
      for (let times = 0; times < 2; times += 1) {
        assert.ok((await node.services.store.execute(resolving)).ok);
        await send(node, 200, 'POST', `/archive/${loserId}/restore`);
        assert.deepEqual(await linksFrom(node, winnerId), [['supersedes', loserId]]);
      }
    }));

  it('is no edit over HTTP, which refuses an edit_source because its answer could not name another id', () =>
    withNode(async (node) => {
      const id = await store(node, 'plan');
      const refused = await send(node, 400, 'PUT', `/memories/${id}`, { content: 'x', edit_source: 'llm' });
      assert.match(JSON.stringify(refused), /edit_source/);
    }));
});
