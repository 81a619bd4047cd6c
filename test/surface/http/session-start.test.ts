import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

type Row = Record<string, unknown>;

let node: HttpNode;
beforeEach(async () => {
  node = await openHttpNode();
});
afterEach(() => node.close());

const as = (agent: string) => ({ 'x-agent-id': agent });

async function store(row: Row, agent = 'ai:alice'): Promise<string> {
  const answer = await node.send(
    'POST',
    '/api/v1/memories',
    { content: `about ${row['title']}`, ...row },
    as(agent),
  );
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json!['id']);
}

async function start(body: Row = {}, agent = 'ai:alice'): Promise<Row & { readonly titles: string[] }> {
  const answer = await node.send('POST', '/api/v1/session/start', body, as(agent));
  assert.equal(answer.status, 200, answer.text);
  const titles = (answer.json!['memories'] as Row[]).map(({ title }) => String(title));
  return { ...answer.json!, titles };
}

/** What the background work of a daemon does after each commit. */
async function compare(): Promise<void> {
  const { store: rows, clock } = node.services;
  const now = new Date(clock.nowMs()).toISOString();
  const query = { kind: 'review-written', after: 0, limit: 1000, withinMs: null, now } as const;
  const reviewed = await rows.query(query);
  assert.ok(reviewed.ok);
  const { pairs, through } = reviewed.value;
  assert.ok((await rows.execute({ kind: 'flag-near-duplicates', pairs, through } as never)).ok);
}

describe('POST /session/start', () => {
  it('gives the rows by priority, then the newest, with a score of 0', async () => {
    for (const [title, priority] of [
      ['old', 5],
      ['pinned', 9],
      ['new', 5],
    ] as const)
      await store({ title, priority });
    const { titles, ...answer } = await start();
    assert.deepEqual(titles, ['pinned', 'new', 'old']);
    assert.equal(answer['count'], 3);
    assert.equal(answer['mode'], 'session_start');
    assert.match(String(answer['session_id']), /^[0-9a-f-]{36}$/);
    const [row] = answer['memories'] as Row[];
    assert.equal(row!['score'], 0);
    assert.equal(row!['content'], 'about pinned');
    assert.deepEqual((await start({ content: 'none' }))['tokens_used'], 0);
  });

  it('fills its limit with rows that the caller may see', async () => {
    for (let n = 0; n < 120; n += 1)
      await store({ title: `secret ${n}`, priority: 9, scope: 'private' }, 'ai:bob');
    for (let n = 0; n < 12; n += 1) await store({ title: `open ${n}` });
    const { titles } = await start();
    assert.equal(titles.length, 10);
    assert.deepEqual(
      titles.filter((title) => title.startsWith('secret')),
      [],
    );
    assert.ok((await start({ limit: 3 }, 'ai:bob')).titles.every((title) => title.startsWith('secret')));
    assert.equal((await start({ limit: 500 }, 'ai:bob')).titles.length, 50);
  });

  it('shows one of several rows that say nearly the same, and goes on to others', async () => {
    const same =
      'The deploy window of the harbour ferry service is on Sunday from two to four in the morning';
    for (let n = 0; n < 12; n += 1) await store({ title: `deploy note ${n}`, content: `${same} (${n})` });
    await store({
      title: 'alone',
      content: 'A ferry needs a captain, a licence and a good deal of fuel',
      priority: 1,
    });
    await compare();
    const { titles, ...answer } = await start({ limit: 2 });
    assert.deepEqual(titles, ['deploy note 11', 'alone']);
    const [first, second] = answer['memories'] as Row[];
    assert.equal(first!['similar_count'], 11);
    assert.equal((first!['similar_ids'] as string[]).length, 5);
    assert.equal(second!['similar_count'], undefined);
  });

  it('ends within the budget of tokens, and says that there is more', async () => {
    for (const title of ['one', 'two', 'three'])
      await store({ title, content: `${title} ferry `.repeat(200) });
    const { titles, ...answer } = await start({ budget_tokens: 600 });
    assert.deepEqual(titles, ['three']);
    assert.equal(answer['truncated'], true);
    assert.ok(Number(answer['tokens_used']) <= 600);
    assert.equal((await start({ budget_tokens: 1 })).titles.length, 1);
    const whole = await start({ budget_tokens: 5000 });
    assert.equal(whole.titles.length, 3);
    assert.equal(whole['truncated'], undefined);
  });

  it('attaches the standards of its namespace, and leaves the records of the service out', async () => {
    const id = await store({ title: 'house rules', namespace: 'team' });
    const pinned = await node.send('POST', '/api/v1/namespaces/team/standard', { id }, as('ai:alice'));
    assert.equal(pinned.status, 201, pinned.text);
    const agent = { agent_id: 'ai:alice', agent_type: 'human' };
    assert.equal((await node.send('POST', '/api/v1/agents', agent, as('ai:alice'))).status, 201);
    await store({ title: 'deep', namespace: 'team/alpha' });
    const answer = await start({ namespace: 'team/alpha' });
    assert.deepEqual(answer.titles, ['deep']);
    assert.equal((answer['standard'] as Row)['title'], 'house rules');
    assert.deepEqual((await start({ namespace: 'team/**' })).titles, ['deep', 'house rules']);
    assert.deepEqual((await start()).titles, ['deep', 'house rules']);
  });

  it('prefers its rows in the recalls of the session', async () => {
    await store({ title: 'ferry east', content: 'The ferry leaves at noon', namespace: 'east' });
    await store({ title: 'ferry west', content: 'The ferry leaves at noon', namespace: 'west' });
    for (const namespace of ['east', 'west']) {
      const { session_id } = await start({ namespace });
      const asked = { context: 'when does the ferry leave', min_score: 0, session_id };
      const answer = await node.send('POST', '/api/v1/recall', asked, as('ai:alice'));
      assert.equal((answer.json!['memories'] as Row[])[0]!['title'], `ferry ${namespace}`);
    }
  });

  it('refuses a wrong limit, budget, namespace and field, and another agent', async () => {
    for (const body of [{ limit: 0 }, { budget_tokens: 0 }, { namespace: 'a//b' }, { namespace: 7 }])
      assert.equal(
        (await node.send('POST', '/api/v1/session/start', body)).json!['code'],
        'VALIDATION_FAILED',
      );
    assert.equal((await node.send('POST', '/api/v1/session/start', { x: 1 })).json!['code'], 'UNKNOWN_FIELD');
    const other = await node.send('POST', '/api/v1/session/start', { agent_id: 'ai:bob' }, as('ai:alice'));
    assert.equal(other.status, 403);
    assert.equal(other.json!['code'], 'agent_id_body_header_mismatch');
  });
});
