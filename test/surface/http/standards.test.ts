import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;

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

async function send(
  node: HttpNode,
  status: number,
  method: string,
  path: string,
  body?: unknown,
  agentId = 'ai:alice',
): Promise<Json> {
  const answer = await node.send(method, `/api/v1${path}`, body, { 'x-agent-id': agentId });
  assert.equal(answer.status, status, answer.text);
  return answer.json!;
}

async function stored(node: HttpNode, title: string, more: Json = {}, agentId = 'ai:alice'): Promise<string> {
  const body = { title, content: `text of ${title}`, namespace: 'notes', ...more };
  return String((await send(node, 201, 'POST', '/memories', body, agentId))['id']);
}

const pin = (node: HttpNode, namespace: string, id: string, agentId = 'ai:alice', status = 201) =>
  send(node, status, 'POST', `/namespaces/${encodeURIComponent(namespace)}/standard`, { id }, agentId);
const shown = (node: HttpNode, namespace: string, agentId = 'ai:bob') =>
  send(node, 200, 'GET', `/namespaces/${encodeURIComponent(namespace)}/standard`, undefined, agentId);
const recalled = (node: HttpNode, namespace: string | null, agentId = 'ai:bob') =>
  send(
    node,
    200,
    'POST',
    '/recall',
    { context: 'text', ...(namespace === null ? {} : { namespace }) },
    agentId,
  );

const attached = (title: string, namespace: string, id: string) => ({
  namespace,
  id,
  title,
  content: `text of ${title}`,
});

describe('the standards that a recall carries', () => {
  it('are those of its namespace and of all that it inherits from', async () => {
    const node = await open();
    const [team, alpha, all] = [
      await stored(node, 'team'),
      await stored(node, 'alpha'),
      await stored(node, 'all'),
    ];
    const before = await recalled(node, 'team/alpha');
    assert.equal('standard' in before || 'standards' in before, false);
    await pin(node, 'team', team);
    assert.deepEqual((await recalled(node, 'team/alpha'))['standard'], attached('team', 'team', team));
    await pin(node, 'team/alpha', alpha);
    await pin(node, '*', all, 'ai:alice', 403);
    await pin(node, '*', all, 'ai:admin');
    const both = await recalled(node, 'team/alpha');
    assert.deepEqual(both['standards'], [
      attached('all', '*', all),
      attached('team', 'team', team),
      attached('alpha', 'team/alpha', alpha),
    ]);
    assert.equal('standard' in both, false);
    assert.deepEqual((await recalled(node, null))['standard'], attached('all', '*', all));
    assert.deepEqual((await recalled(node, 'other'))['standard'], attached('all', '*', all));
    await send(node, 201, 'POST', '/namespaces', { namespace: 'other', parent: 'team' });
    assert.equal(((await recalled(node, 'other'))['standards'] as Json[]).length, 2);
  });

  it('stand before the rows in TOON', async () => {
    const node = await open();
    const id = await stored(node, 'a: b');
    await pin(node, 'notes', id);
    const body = { context: 'text', namespace: 'notes', format: 'toon_compact' };
    const { text } = await node.send('POST', '/api/v1/recall', body);
    const [, header, row, memories] = text.split('\n');
    assert.deepEqual(
      [header, row, memories?.split('[')[0]],
      ['standards[id|title|content]:', `${id}|a: b|text of a: b`, 'memories'],
    );
  });

  it('leave out memories that the caller may not see, and the farthest when they are too long', async () => {
    const node = await open();
    const hidden = await stored(node, 'hidden', { scope: 'private' });
    await pin(node, 'notes', hidden);
    assert.equal('standard' in (await recalled(node, 'notes')), false);
    assert.equal(((await recalled(node, 'notes', 'ai:alice'))['standard'] as Json)['id'], hidden);
    for (const namespace of ['a', 'a/b', 'a/b/c']) {
      await pin(node, namespace, await stored(node, namespace, { content: 'x '.repeat(30_000) }));
    }
    const standards = (await recalled(node, 'a/b/c'))['standards'] as Json[];
    assert.deepEqual(
      standards.map(({ namespace }) => namespace),
      ['a/b', 'a/b/c'],
    );
  });

  it('take at most half of a stated budget, the nearest first, and name the others', async () => {
    const node = await open();
    const words = (count: number) => 'word '.repeat(count).trim();
    const far = await stored(node, 'far', { content: words(60) });
    const near = await stored(node, 'near', { content: words(40) });
    await pin(node, 'a', far);
    await pin(node, 'a/b', near);
    await stored(node, 'row one', { namespace: 'a/b', content: words(30) });
    await stored(node, 'row two', { namespace: 'a/b', content: words(30) });
    const recall = async (budget: number | undefined) => {
      const asked = { context: 'row', namespace: 'a/b', min_score: 0, budget_tokens: budget };
      return (await send(node, 200, 'POST', '/recall', asked)) as Json;
    };
    const whole = await recall(undefined);
    assert.equal((whole['standards'] as Json[]).length, 2);
    assert.equal('standards_omitted' in whole, false);
    const some = await recall(100);
    assert.deepEqual((some['standard'] as Json)['id'], near);
    assert.deepEqual(some['standards_omitted'], [far]);
    assert.equal((some['memories'] as Json[]).length, 2);
    assert.ok((some['tokens_used'] as number) <= 100 && (some['tokens_used'] as number) >= 95);
    // What the standards do not take is there for rows, and the first row always comes.
    const few = await recall(60);
    assert.deepEqual([few['standard'], few['standards_omitted']], [undefined, [far, near]]);
    assert.equal((few['memories'] as Json[]).length, 2);
    const none = await recall(0);
    assert.deepEqual([none['memories'], none['standards_omitted']], [[], [far, near]]);
    const start = { namespace: 'a/b', budget_tokens: 90 };
    const started = (await send(node, 200, 'POST', '/session/start', start)) as Json;
    assert.deepEqual((started['standard'] as Json)['id'], near);
    assert.equal((started['memories'] as Json[]).length, 1);
    assert.equal(started['truncated'], true);
  });

  it('end with their memory, and a policy does not', async () => {
    const node = await open();
    const [one, two] = [await stored(node, 'one'), await stored(node, 'two')];
    await pin(node, 'plain', one);
    await pin(node, 'ruled', two);
    await send(node, 201, 'POST', '/namespaces', { namespace: 'ruled', governance: { write: 'approve' } });
    for (const id of [one, two]) await send(node, 200, 'DELETE', `/memories/${id}`);
    const dangling = await shown(node, 'plain', 'ai:alice');
    assert.deepEqual([dangling['standard_id'], dangling['title'], dangling['count']], [one, undefined, 1]);
    assert.match(String(dangling['warning']), /does not exist/);
    assert.equal('standard' in (await recalled(node, 'plain')), false);
    await send(node, 200, 'POST', '/gc', {}, 'ai:admin');
    const { standard_id, count } = await shown(node, 'plain');
    assert.deepEqual([standard_id, count], [null, 0]);
    const ruled = await shown(node, 'ruled');
    assert.deepEqual([ruled['standard_id'], (ruled['governance'] as Json)['write']], [null, 'approve']);
    const before = await node.counts();
    await send(node, 200, 'POST', '/gc', {}, 'ai:admin');
    assert.deepEqual(await node.counts(), before);
  });
});

describe('a standard over HTTP', () => {
  it('shows no standard where the caller may not see its memory, nor where that is gone', async () => {
    const node = await open();
    const [gone, hidden] = [await stored(node, 'gone'), await stored(node, 'hidden', { scope: 'private' })];
    await pin(node, 'one', gone);
    await pin(node, 'two', hidden);
    await send(node, 200, 'DELETE', `/memories/${gone}`);
    for (const namespace of ['one', 'two', 'three']) {
      const none = { standard_id: null, namespace, chain: [namespace], standards: [], count: 0 };
      assert.deepEqual(await shown(node, namespace), none);
    }
    await send(node, 201, 'POST', '/namespaces', { namespace: 'two', governance: { write: 'any' } });
    const ruled = await shown(node, 'two');
    assert.deepEqual([ruled['standard_id'], ruled['count'], 'warning' in ruled], [null, 1, false]);
    assert.match(String((await shown(node, 'one', 'ai:alice'))['warning']), /does not exist/);
    assert.equal((await shown(node, 'two', 'ai:alice'))['title'], 'hidden');
  });

  it('is set by the owner of the memory, and kept by who set it; an admin may change each', async () => {
    const node = await open();
    const id = await stored(node, 'mine');
    await pin(node, 'team', id, 'ai:bob', 403);
    await pin(node, 'team', id);
    const policy = { namespace: 'team', governance: { write: 'owner' } };
    await send(node, 403, 'POST', '/namespaces', policy, 'ai:bob');
    await send(node, 403, 'DELETE', '/namespaces?namespace=team', undefined, 'ai:bob');
    await send(node, 201, 'POST', '/namespaces', policy, 'ai:admin');
    const own = await send(node, 201, 'POST', '/namespaces', { namespace: 'team', parent: 'root' });
    assert.deepEqual(
      [own['standard_id'], own['parent'], (own['governance'] as Json)['write']],
      [id, 'root', 'owner'],
    );
    const reset = await send(node, 201, 'POST', '/namespaces', { namespace: 'team', parent: null });
    assert.equal('parent' in reset, false);
    await send(node, 200, 'DELETE', '/namespaces?namespace=team', undefined, 'ai:admin');
  });

  it('is set by the members of an object of its own too, on both routes', async () => {
    const node = await open();
    const id = await stored(node, 'nested');
    const set = await send(node, 201, 'POST', '/namespaces', {
      namespace: 'team',
      standard: { id, parent: 'root', governance: { write: 'owner' } },
    });
    assert.deepEqual(
      [set['standard_id'], set['parent'], (set['governance'] as Json)['write']],
      [id, 'root', 'owner'],
    );
    const path = '/namespaces/other/standard';
    await send(node, 201, 'POST', path, { standard: { id }, parent: 'team' });
    const other = await shown(node, 'other');
    assert.deepEqual([other['standard_id'], other['parent']], [id, 'team']);
  });

  it('refuses an object of its own that is none, repeats a field, or holds another one', async () => {
    const node = await open();
    const id = await stored(node, 'nested');
    for (const [body, code, fields] of [
      [{ standard: 'text' }, 'VALIDATION_FAILED', ['standard']],
      [{ standard: [] }, 'VALIDATION_FAILED', ['standard']],
      [{ id, standard: { id } }, 'VALIDATION_FAILED', ['id']],
      [{ standard: { id, goverance: {} } }, 'UNKNOWN_FIELD', ['standard.goverance']],
      [{ standard: { id, standard: { id } } }, 'UNKNOWN_FIELD', ['standard.standard']],
      [{ standard: { id, agent_id: 'ai:admin' } }, 'UNKNOWN_FIELD', ['standard.agent_id']],
    ] as const) {
      const refused = await send(node, 400, 'POST', '/namespaces', { namespace: 'team', ...body });
      assert.deepEqual([refused['code'], refused['fields']], [code, fields], JSON.stringify(body));
    }
    assert.equal((await shown(node, 'team'))['count'], 0);
  });

  it('shows a chain that leads back to itself once', async () => {
    const node = await open();
    for (const [namespace, parent] of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      await send(node, 201, 'POST', '/namespaces', { namespace, parent, governance: { write: 'any' } });
    }
    const chain = await send(node, 200, 'GET', '/namespaces/a/standard?inherit=true');
    assert.deepEqual([chain['chain'], chain['count']], [['*', 'b', 'a'], 2]);
    const query = await send(node, 200, 'GET', '/namespaces?namespace=a&inherit=true');
    assert.deepEqual(query, chain);
  });

  it('refuses what is no policy, and members that this release does not know', async () => {
    const node = await open();
    for (const governance of ['any', [], { delete: 'any' }, { write: 'any', approver: {} }]) {
      await send(node, 400, 'POST', '/namespaces', { namespace: 'team', governance });
    }
    for (const [member, meant] of [
      ['delte', 'did you mean "delete"?'],
      ['approvers', 'did you mean "approver"?'],
      ['of_a_later_release', 'a policy has no such member'],
    ] as const) {
      const body = { namespace: 'team', governance: { write: 'any', [member]: 'approve' } };
      const refused = await send(node, 400, 'POST', '/namespaces', body);
      assert.deepEqual(refused['fields'], [`governance.${member}`]);
      assert.ok(
        String(refused['error']).endsWith(`unknown member "${member}": ${meant}`),
        String(refused['error']),
      );
    }
    assert.equal((await shown(node, 'team'))['count'], 0);
    await send(node, 400, 'POST', '/namespaces', { namespace: 'nothing' });
    await send(node, 400, 'POST', '/namespaces', { namespace: 'team', parent: 'team' });
  });
});

describe('namespaces and their tree', () => {
  it('count live rows, private ones of others included for an admin', async () => {
    const node = await open();
    await stored(node, 'one', { namespace: 'a/b' });
    await stored(node, 'two', { namespace: 'a/b', scope: 'private' });
    await stored(node, 'three', { namespace: 'ab' });
    const gone = await stored(node, 'four', { namespace: 'gone' });
    await send(node, 200, 'DELETE', `/memories/${gone}`);
    const { namespaces } = await send(node, 200, 'GET', '/namespaces', undefined, 'ai:admin');
    assert.deepEqual(namespaces, [
      { namespace: 'a/b', count: 2 },
      { namespace: 'ab', count: 1 },
    ]);
    const tree = await send(node, 200, 'GET', '/taxonomy?root=a/', undefined, 'ai:admin');
    assert.deepEqual(tree['tree'], [
      {
        ...{ namespace: 'a', count: 0, subtree_count: 2 },
        children: [{ namespace: 'a/b', count: 2, subtree_count: 2, children: [] }],
      },
    ]);
    assert.equal(tree['total_count'], 2);
  });
});
