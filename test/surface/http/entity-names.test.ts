import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { OPERATOR } from '../../support/memories.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** In a namespace one name leads to one entity, whatever was done to it. */

type Json = Record<string, unknown>;
const ADMIN = { 'x-agent-id': 'ai:admin' };
const PEOPLE = { namespace: 'people' };

let opened: HttpNode[] = [];
afterEach(async () => {
  for (const node of opened) await node.close();
  opened = [];
});
async function open(): Promise<HttpNode> {
  const node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
  opened.push(node);
  return node;
}
async function send(node: HttpNode, status: number, ...request: Parameters<HttpNode['send']>): Promise<Json> {
  const [method, path, body, headers = { 'x-agent-id': 'ai:alice' }] = request;
  const answer = await node.send(method, `/api/v1${path}`, body, headers);
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}
const register = (node: HttpNode, body: Json, status = 201, agentId = 'ai:alice') =>
  send(node, status, 'POST', '/entities', { ...PEOPLE, ...body }, { 'x-agent-id': agentId });
const resolve = async (node: HttpNode, alias: string) =>
  (await send(node, 200, 'GET', `/entities/by_alias?namespace=people&alias=${encodeURIComponent(alias)}`))[
    'entity_id'
  ];
const memoryId = ({ entity_id }: Json) => String(entity_id).replace(/^ent-/, '');
const rename = (node: HttpNode, entity: Json, title: string, status: number) =>
  send(node, status, 'PUT', `/memories/${memoryId(entity)}`, { title });

describe('the name of an entity', () => {
  it('answers the entity that has it, also as an alias or as a former name', async () => {
    const node = await open();
    const ada = await register(node, { canonical_name: 'Ada', aliases: ['Countess'] });
    await rename(node, ada, 'Ada Lovelace', 200);
    for (const canonical_name of ['ada', 'COUNTESS', 'Ada  Lovelace']) {
      const again = await register(node, { canonical_name }, 200, 'ai:bob');
      assert.deepEqual([again['entity_id'], again['created']], [ada['entity_id'], false]);
    }
  });

  it('is refused to a rename onto a name or an alias of another one', async () => {
    const node = await open();
    const ada = await register(node, { canonical_name: 'Ada', aliases: ['Countess'] });
    const other = await register(node, { canonical_name: 'Grace' });
    for (const title of ['ADA', 'countess', 'Ada']) {
      const refused = await rename(node, other, title, 409);
      assert.deepEqual([refused['code'], refused['existing_id']], ['CONFLICT', memoryId(ada)]);
    }
    await rename(node, other, 'GRACE', 200);
    assert.equal(await resolve(node, 'countess'), ada['entity_id']);
  });

  it('is refused to a restore and to an undone edit when another one has taken it', async () => {
    const node = await open();
    const gone = await register(node, { canonical_name: 'Ada' });
    await send(node, 200, 'DELETE', `/memories/${memoryId(gone)}`);
    const taker = await register(node, { canonical_name: 'ADA' });
    const refused = await send(node, 409, 'POST', `/archive/${memoryId(gone)}/restore`);
    assert.deepEqual([refused['code'], refused['existing_id']], ['CONFLICT', memoryId(taker)]);

    const renamed = await register(node, { canonical_name: 'Grace' });
    await rename(node, renamed, 'Hopper', 200);
    const store = node.services.store;
    const undo = { id: memoryId(renamed), dryRun: false, viewer: OPERATOR, archive: true };
    assert.ok((await store.execute({ kind: 'undo-edit', ...undo })).ok, 'its own former name is free for it');
  });

  it('is refused to an imported entity and to a memory that becomes one', async () => {
    const node = await open();
    const ada = await register(node, { canonical_name: 'Ada' });
    const forged = {
      ...PEOPLE,
      id: 'forged',
      title: 'ADA',
      content: 'x',
      kind: 'entity',
      entity_id: 'ent-forged',
    };
    for (const trust_source of [false, true]) {
      const answer = await send(node, 200, 'POST', '/import', { memories: [forged], trust_source }, ADMIN);
      assert.match((answer['errors'] as string[])[0]!, /another entity .* has this name/);
    }
    const { id } = await send(node, 201, 'POST', '/memories', {
      ...{ ...PEOPLE, title: 'aDa', content: 'x', kind: 'entity' },
    });
    const become = { kind: 'update-memory', id: String(id), patch: { entity_id: `ent-${id}` } } as const;
    const done = await node.services.store.execute({
      ...{ ...become, expectedVersion: null, viewer: OPERATOR, archive: true },
    });
    assert.equal(done.ok ? 'ok' : done.error.code, 'CONFLICT');
    assert.equal(await resolve(node, 'ada'), ada['entity_id']);
  });

  it('is not taken as an alias by the entity of another agent, on any way in', async () => {
    const node = await open();
    const ada = await register(node, { canonical_name: 'Ada', aliases: ['Countess'] });
    const mallory = await register(node, { canonical_name: 'Mallory' }, 201, 'ai:mallory');
    for (const alias of ['ada', 'COUNTESS']) {
      const adding = { canonical_name: 'Mallory', aliases: [alias] };
      assert.equal((await register(node, adding, 409, 'ai:mallory'))['existing_id'], memoryId(ada));
      await register(node, { canonical_name: 'New', aliases: [alias] }, 409, 'ai:mallory');
      const folded = alias.toLowerCase();
      const record = {
        ...{ kind: 'alias', id: `${memoryId(mallory)}|${folded}`, ...PEOPLE, memory_id: memoryId(mallory) },
        ...{ alias, folded, added_by: 'ai:mallory', added_at: '2026-01-01T00:00:00.000Z' },
      };
      const body = { memories: [], records: [record], trust_source: true };
      assert.equal((await send(node, 200, 'POST', '/import', body, ADMIN))['failed'], 1);
      assert.equal(await resolve(node, alias), ada['entity_id']);
    }
    await register(node, { canonical_name: 'Ada the second', aliases: ['Countess'] });
  });
});
