import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };
const ADMIN = { 'x-agent-id': 'ai:admin' };
const WHERE = ['team', 'team/alpha', 'team/alpha/deep', 'team-b', 'teams', 'other/team'];

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
  for (const namespace of WHERE) {
    for (const n of [1, 2]) {
      const body = {
        title: `ferry ${n} of ${namespace}`,
        content: `The ferry ${n} sails at noon.`,
        namespace,
      };
      const { status, text } = await node.send('POST', '/api/v1/memories', body, ALICE);
      assert.equal(status, 201, text);
    }
  }
});
after(() => node.close());

const get = async (path: string, headers = ALICE) => {
  const { status, text, json } = await node.send('GET', `/api/v1${path}`, undefined, headers);
  assert.equal(status, 200, text);
  return json!;
};
const namespacesOf = (rows: unknown) =>
  [...new Set((rows as { namespace: string }[]).map(({ namespace }) => namespace))].sort();
const TEAM = encodeURIComponent('team/**');
const BELOW_TEAM = ['team', 'team/alpha', 'team/alpha/deep'];

describe('a namespace with /** at its end', () => {
  it('covers the namespace and all below it in list, search and recall', async () => {
    for (const [path, rows] of [
      [`/memories?limit=50&namespace=${TEAM}`, 'memories'],
      [`/search?q=ferry&limit=50&namespace=${TEAM}`, 'results'],
      [`/recall?q=ferry&limit=50&namespace=${TEAM}`, 'memories'],
    ] as const) {
      const answer = await get(path);
      assert.deepEqual(namespacesOf(answer[rows]), BELOW_TEAM, path);
      assert.equal(answer['count'], 6, path);
    }
    const deep = await get(`/recall?q=ferry&limit=50&namespace=${encodeURIComponent('team/alpha/**')}`);
    assert.deepEqual(namespacesOf(deep['memories']), ['team/alpha', 'team/alpha/deep'], 'no ancestors');
    const plain = await get('/recall?q=ferry&limit=50&namespace=team/alpha');
    assert.deepEqual(namespacesOf(plain['memories']), ['team', 'team/alpha'], 'itself and its ancestors');
  });

  it('covers them in an export, page by page too', async () => {
    const whole = await get(`/export?namespace=${TEAM}`, ADMIN);
    assert.deepEqual(namespacesOf(whole['memories']), BELOW_TEAM);
    const ids: unknown[] = [];
    for (let cursor = ''; ; ) {
      const page = await get(`/export?namespace=${TEAM}&limit=2${cursor}`, ADMIN);
      ids.push(...(page['memories'] as { id: string }[]).map(({ id }) => id));
      if (page['next_cursor'] === undefined) break;
      cursor = `&cursor=${encodeURIComponent(String(page['next_cursor']))}`;
    }
    assert.deepEqual(
      ids,
      (whole['memories'] as { id: string }[]).map(({ id }) => id),
    );
    assert.deepEqual(namespacesOf((await get('/export?namespace=teams', ADMIN))['memories']), ['teams']);
  });

  it('stays fast and whole over very many namespaces', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => ({
      title: `crane ${n}`,
      content: 'The crane lifts.',
      namespace: `wide/n${n}`,
    }));
    const stored = await node.send('POST', '/api/v1/memories/bulk', rows, ALICE);
    assert.equal(stored.json?.['created'], 300, stored.text);
    const wide = encodeURIComponent('wide/**');
    assert.equal((await get(`/recall?q=crane&limit=50&namespace=${wide}`))['count'], 50);
    assert.equal((await get(`/search?q=crane&limit=500&namespace=${wide}`))['count'], 300);
    assert.equal(
      (await get(`/recall?q=${encodeURIComponent('crane 250')}&limit=1&namespace=${wide}`))['count'],
      1,
    );
    assert.deepEqual((await get(`/recall?q=ferry&namespace=${wide}`))['memories'], []);
  });

  it('covers them in a forget, and nothing beside them', async () => {
    const body = { namespace: 'team/alpha/**' };
    const forgotten = await node.send('POST', '/api/v1/forget', body, ADMIN);
    assert.deepEqual(forgotten.json, { deleted: 4 });
    const left = await get(`/memories?limit=500&namespace=${TEAM}`);
    assert.deepEqual(namespacesOf(left['memories']), ['team']);
  });

  it('names no place to store in, and no position', async () => {
    for (const [method, path, body] of [
      ['POST', '/memories', { title: 't', content: 'c', namespace: 'team/**' }],
      ['GET', `/recall?q=x&as_agent=${TEAM}`, undefined],
      ['GET', `/memories?namespace=${encodeURIComponent('/**')}`, undefined],
      ['GET', `/memories?namespace=${encodeURIComponent('a//**')}`, undefined],
    ] as const) {
      const refused = await node.send(method, `/api/v1${path}`, body, ALICE);
      assert.deepEqual([refused.status, refused.json?.['code']], [400, 'VALIDATION_FAILED'], path);
    }
  });
});

describe('an empty answer', () => {
  it('says which namespace was probably meant, as far as the caller sees memories there', async () => {
    const secret = { title: 'plan', content: 'in June', namespace: 'vault/north', scope: 'private' };
    assert.equal((await node.send('POST', '/api/v1/memories', secret, ALICE)).status, 201);
    for (const path of ['/memories?', '/search?q=ferry&', '/recall?q=ferry&']) {
      const meant = async (namespace: string, as = ALICE) =>
        (await get(`${path}namespace=${encodeURIComponent(namespace)}`, as))['namespace_meant'];
      assert.equal(await meant('valt/nort'), 'vault/north', path);
      assert.equal(await meant('valt/north/**'), 'vault/north/**', path);
      assert.equal(await meant('valt/north', BOB), undefined, path);
      assert.equal(await meant('something/else'), undefined, path);
      assert.equal(await meant('vault/north'), undefined, path);
    }
  });

  it('says where below the namespace there are memories, as far as the caller sees them', async () => {
    const secret = { title: 'plan', content: 'in May', namespace: 'hidden/deep', scope: 'private' };
    assert.equal((await node.send('POST', '/api/v1/memories', secret, ALICE)).status, 201);
    for (const path of ['/memories?', '/search?q=ferry&', '/recall?q=ferry&']) {
      const answer = await get(`${path}namespace=other`);
      assert.deepEqual([answer['count'], answer['namespaces_below']], [0, ['other/team']], path);
      assert.deepEqual((await get(`${path}namespace=hidden`))['namespaces_below'], ['hidden/deep'], path);
      assert.equal('namespaces_below' in (await get(`${path}namespace=hidden`, BOB)), false, path);
      assert.equal('namespaces_below' in (await get(`${path}namespace=nowhere`)), false, path);
      assert.equal(
        'namespaces_below' in (await get(`${path}namespace=${encodeURIComponent('no/**')}`)),
        false,
      );
    }
    const toon = await node.send(
      'GET',
      '/api/v1/memories?namespace=other&format=toon_compact',
      undefined,
      ALICE,
    );
    assert.match(toon.text, /^count:0\|namespaces_below:other\/team\n/);
  });
});
