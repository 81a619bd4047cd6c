import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { updating } from '../../support/memories.js';
import { type HttpNode, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;
const ADMIN = { 'x-agent-id': 'ai:admin' };
const ADA = { canonical_name: 'Ada Lovelace', namespace: 'people', aliases: ['Ada'] };

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

const by = (agentId: string) => ({ 'x-agent-id': agentId });

async function send(node: HttpNode, status: number, ...request: Parameters<HttpNode['send']>): Promise<Json> {
  const [method, path, body, headers = by('ai:alice')] = request;
  const answer = await node.send(method, `/api/v1${path}`, body, headers);
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}

const register = (node: HttpNode, body: Json, status = 201, agentId = 'ai:alice') =>
  send(node, status, 'POST', '/entities', body, by(agentId));

async function resolve(node: HttpNode, alias: string, namespace?: string, agentId = 'ai:bob'): Promise<Json> {
  const query = new URLSearchParams({ alias, ...(namespace === undefined ? {} : { namespace }) });
  return send(node, 200, 'GET', `/entities/by_alias?${query}`, undefined, by(agentId));
}

const memoryId = ({ entity_id }: Json) => String(entity_id).replace(/^ent-/, '');

describe('an entity', () => {
  it('is a typed memory, which its id finds', async () => {
    const node = await open();
    const entity = await register(node, { ...ADA, metadata: { born: 1815, attest_level: 'agent_attested' } });
    assert.match(String(entity['entity_id']), /^ent-[0-9a-f-]{36}$/);
    for (const id of [entity['entity_id'], memoryId(entity), String(entity['entity_id']).slice(0, 20)]) {
      const { memory } = (await send(node, 200, 'GET', `/memories/${id}`)) as { memory: Json };
      assert.deepEqual(
        [memory['id'], memory['entity_id'], memory['kind'], memory['title'], memory['tier'], memory['tags']],
        [memoryId(entity), entity['entity_id'], 'entity', 'Ada Lovelace', 'long', ['entity']],
      );
      assert.equal('expires_at' in memory, false);
      assert.deepEqual(memory['metadata'], { born: 1815, agent_id: 'ai:alice', attest_level: 'claimed' });
    }
    await send(node, 404, 'GET', '/memories/ent-');
    const other = await send(node, 201, 'POST', '/memories', { title: 'a note', content: 'x' });
    await send(node, 404, 'GET', `/memories/ent-${other['id']}`);
  });

  it('is registered once, whoever asks and however the name is spelled; aliases are merged', async () => {
    const node = await open();
    const first = await register(node, { ...ADA, metadata: { born: 1815 } });
    const again = await register(
      node,
      {
        ...ADA,
        canonical_name: 'ADA LOVELACE',
        aliases: ['ada', 'Countess', 'COUNTESS'],
        metadata: { born: 0 },
      },
      200,
      'ai:bob',
    );
    assert.deepEqual(again, { ...first, created: false, aliases: ['Ada Lovelace', 'Ada', 'Countess'] });
    const { memory } = (await send(node, 200, 'GET', `/memories/${first['entity_id']}`)) as { memory: Json };
    assert.deepEqual(memory['metadata'], { born: 1815, agent_id: 'ai:alice', attest_level: 'claimed' });
    const before = await node.counts();
    await register(node, { ...ADA, aliases: [] }, 200);
    assert.deepEqual(await node.counts(), before, 'a known entity with known aliases writes nothing');
    const elsewhere = await register(node, { ...ADA, namespace: 'ships' });
    assert.notEqual(elsewhere['entity_id'], first['entity_id']);
  });

  it('refuses the title of another memory, and names it only to who may see it', async () => {
    const node = await open();
    const note = { title: ADA.canonical_name, content: 'a note', namespace: 'people', scope: 'private' };
    const { id } = await send(node, 201, 'POST', '/memories', note);
    const mine = await register(node, ADA, 409);
    assert.deepEqual([mine['code'], mine['existing_id']], ['CONFLICT', id]);
    const theirs = await register(node, ADA, 409, 'ai:bob');
    assert.deepEqual([theirs['code'], theirs['existing_id']], ['CONFLICT', undefined]);
  });

  it('is found by search by every alias, also by one that was added later, and by others', async () => {
    const node = await open();
    const entity = await register(node, ADA);
    const bare = await register(node, { canonical_name: 'Grace', namespace: 'people' });
    await register(node, { ...ADA, aliases: ['Enchantress'] }, 200, 'ai:bob');
    await register(node, { canonical_name: 'Grace', namespace: 'people', aliases: ['Amazing'] }, 200);
    for (const [word, found] of [
      ['Enchantress', entity],
      ['Amazing', bare],
    ] as const) {
      const { results } = await send(node, 200, 'GET', `/search?q=${word}`);
      assert.deepEqual(
        (results as Json[]).map(({ id }) => id),
        [memoryId(found)],
      );
    }
    const own = { content: 'wrote the first program' };
    await send(node, 200, 'PUT', `/memories/${memoryId(entity)}`, own);
    await register(node, { ...ADA, aliases: ['Byron'] }, 200, 'ai:bob');
    const { memory } = (await send(node, 200, 'GET', `/memories/${memoryId(entity)}`)) as { memory: Json };
    assert.equal(memory['content'], own.content, 'a text of the owner stays');
  });

  it('may grow out of a memory of kind entity, by its owner', async () => {
    const node = await open();
    const note = {
      title: ADA.canonical_name,
      content: 'a mathematician',
      namespace: 'people',
      kind: 'entity',
    };
    const { id } = await send(node, 201, 'POST', '/memories', note);
    await register(node, ADA, 409, 'ai:bob');
    const entity = await register(node, ADA, 200);
    assert.deepEqual([entity['entity_id'], entity['created']], [`ent-${id}`, false]);
    const { memory } = (await send(node, 200, 'GET', `/memories/${id}`)) as { memory: Json };
    assert.deepEqual([memory['content'], memory['version']], ['a mathematician', 2]);
    assert.deepEqual([memory['tier'], memory['expires_at']], ['long', undefined]);
    await register(node, ADA, 200, 'ai:bob');
  });

  it('cannot be forged by a memory that names its id', async () => {
    const node = await open();
    const entity = await register(node, ADA);
    const note = { title: 'Forged', content: 'x', namespace: 'people', kind: 'entity' };
    const { id } = await send(node, 201, 'POST', '/memories', note, by('ai:eve'));
    const forging = updating(String(id), { entity_id: String(entity['entity_id']) });
    assert.ok((await node.services.store.execute(forging)).ok);
    assert.equal((await resolve(node, 'Forged'))['found'], false);
    await register(node, { ...ADA, canonical_name: 'Forged' }, 409, 'ai:eve');
    assert.equal((await resolve(node, 'Ada'))['entity_id'], entity['entity_id']);
  });

  it('stays one when its owner stores its title again, or changes it', async () => {
    const node = await open();
    const entity = await register(node, ADA);
    const note = { title: ADA.canonical_name, namespace: 'people', content: 'wrote the first program' };
    await send(node, 200, 'POST', '/memories', { ...note, on_conflict: 'merge' });
    await send(node, 409, 'PUT', `/memories/${entity['entity_id']}`, { kind: 'observation' });
    assert.equal((await resolve(node, 'ada'))['entity_id'], entity['entity_id']);
    await register(node, ADA, 200);
  });

  it('keeps its namespace, and has its new name beside the old one after a rename', async () => {
    const node = await open();
    const entity = await register(node, ADA);
    await send(node, 409, 'PUT', `/memories/${entity['entity_id']}`, { namespace: 'elsewhere' });
    await send(node, 200, 'PUT', `/memories/${entity['entity_id']}`, { title: 'Augusta Ada King' });
    for (const alias of ['augusta ada king', 'ada lovelace', 'ADA']) {
      const found = await resolve(node, alias, 'people');
      assert.deepEqual(
        [found['entity_id'], found['canonical_name'], found['aliases']],
        [entity['entity_id'], 'Augusta Ada King', ['Augusta Ada King', 'Ada', 'Ada Lovelace']],
      );
    }
  });

  it('has a bounded number of aliases of a bounded length', async () => {
    const node = await open();
    const many = Array.from({ length: 100 }, (_, n) => `name ${n}`);
    const refused = await register(node, { ...ADA, aliases: many }, 400);
    assert.deepEqual(refused['fields'], ['aliases']);
    await register(node, { ...ADA, aliases: many.slice(1) });
    await register(node, { ...ADA, aliases: ['one more'] }, 400);
    await register(node, { ...ADA, aliases: many.slice(1) }, 200);
    for (const alias of ['x'.repeat(513), '\ufdfa'.repeat(100), 'bell \u0007', 7]) {
      await register(node, { ...ADA, namespace: 'other', aliases: [alias] }, 400);
    }
    const long = Array.from({ length: 90 }, (_, n) => `${n} ${'漢'.repeat(500)}`);
    const { entity_id } = await register(node, { ...ADA, namespace: 'long', aliases: long });
    const { memory } = (await send(node, 200, 'GET', `/memories/${entity_id}`)) as { memory: Json };
    assert.ok(Buffer.byteLength(String(memory['content'])) <= 65_536);
    await register(node, { canonical_name: 'no namespace' }, 400);
    await register(node, { ...ADA, metadata: { agent_id: 'ai:bob' } }, 403);
    await register(node, { ...ADA, namespace: '_agents' }, 400);
  });

  it('is claimed, and refused where the operator requires attested writes', async () => {
    const node = await openHttpNode({ requireAttestation: true });
    opened.push(node);
    assert.equal((await register(node, ADA, 403))['code'], 'ATTESTATION_FAILED');
  });
});

describe('an alias', () => {
  it('finds the newest entity of all namespaces, and in a namespace the one with that name first', async () => {
    const node = await open();
    const older = await register(node, { canonical_name: 'Mercury', namespace: 'planets' });
    const newer = await register(node, { canonical_name: 'Hg', namespace: 'metals', aliases: ['mercury'] });
    assert.equal((await resolve(node, 'MERCURY'))['entity_id'], newer['entity_id']);
    await register(node, { canonical_name: 'Hermes', namespace: 'planets', aliases: ['mercury'] });
    assert.equal((await resolve(node, 'mercury', 'planets'))['entity_id'], older['entity_id']);
    assert.equal((await resolve(node, 'mercury', 'metals'))['entity_id'], newer['entity_id']);
    assert.equal((await resolve(node, 'mercury', 'gods'))['found'], false);
    assert.equal((await resolve(node, 'mercury', 'planets/inner'))['found'], false);
  });

  it('does not show an entity that the caller may not see', async () => {
    const node = await open();
    const hidden = { ...ADA, metadata: { scope: 'private' } };
    await register(node, hidden);
    assert.equal((await resolve(node, 'ada'))['found'], false);
    assert.equal((await resolve(node, 'ada', 'people', 'ai:alice'))['found'], true);
    const older = await register(node, { ...ADA, namespace: 'older' }, 201, 'ai:bob');
    assert.equal((await resolve(node, 'ada'))['entity_id'], older['entity_id']);
    const refused = await register(node, ADA, 409, 'ai:bob');
    assert.equal('existing_id' in refused, false);
  });

  it('goes with the entity and comes back with it, but not with another one of its name', async () => {
    const node = await open();
    const entity = await register(node, ADA);
    await send(node, 200, 'DELETE', `/memories/${entity['entity_id']}`);
    assert.equal((await resolve(node, 'ada'))['found'], false);
    await send(node, 200, 'POST', `/archive/${memoryId(entity)}/restore`);
    const back = await resolve(node, 'ada');
    assert.deepEqual([back['entity_id'], back['aliases']], [entity['entity_id'], ['Ada Lovelace', 'Ada']]);
    await send(node, 200, 'DELETE', `/memories/${entity['entity_id']}`);
    const another = await register(node, { ...ADA, aliases: ['Countess'] });
    assert.notEqual(another['entity_id'], entity['entity_id']);
    assert.deepEqual(another['aliases'], ['Ada Lovelace', 'Countess']);
    assert.equal((await resolve(node, 'ada'))['found'], false);
    await send(node, 409, 'POST', `/archive/${memoryId(entity)}/restore`);
  });

  it('is in exports, and follows an entity that an import merges into a stored row', async () => {
    const [from, to] = [await open(), await open()];
    const entity = await register(from, ADA);
    const document = await send(from, 200, 'GET', '/export', undefined, ADMIN);
    // Another entity of that name is there already, under an id of its own.
    const { id } = await send(to, 201, 'POST', '/memories', {
      ...{ title: ADA.canonical_name, content: 'x', namespace: 'people', kind: 'entity' },
    });
    await register(to, { ...ADA, aliases: ['Countess'] }, 200);
    const imported = await send(to, 200, 'POST', '/import', { ...document, on_conflict: 'merge' }, ADMIN);
    assert.deepEqual(imported['errors'], []);
    const merged = await resolve(to, 'ada');
    assert.deepEqual(
      [merged['entity_id'], merged['aliases']],
      [`ent-${id}`, ['Ada Lovelace', 'Ada', 'Countess']],
    );
    const empty = await open();
    await send(empty, 200, 'POST', '/import', document, ADMIN);
    const { created: _, ...rest } = entity;
    assert.deepEqual(await resolve(empty, 'ada'), { ...rest, found: true });
  });
});
