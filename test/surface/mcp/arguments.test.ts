import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { McpSession } from './mcp-session.js';

type Answer = Record<string, unknown>;

describe('arguments of MCP tools', () => {
  let server: McpSession;
  let calls = 0;
  before(async () => {
    server = new McpSession({ profile: 'full' });
    await server.request('init', 'initialize', {
      ...{ protocolVersion: '2024-11-05', capabilities: {} },
      clientInfo: { name: 'a test', version: '1' },
    });
  });
  after(() => server.end());

  /** What a tool answers: its texts, or the error of the protocol. */
  async function call(name: string, args: Answer) {
    calls += 1;
    const { result, error } = await server.call(calls, name, args);
    const texts = ((result?.['content'] ?? []) as { text: string }[]).map(({ text }) => text);
    return { texts, body: texts[0]?.startsWith('{') ? (JSON.parse(texts[0]) as Answer) : {}, error };
  }

  const count = async (namespace: string) =>
    (await call('memory_list', { namespace, format: 'json' })).body['count'];

  it('takes a list that comes as a JSON text, in every place of a list', async () => {
    const stored = await call('memory_store', {
      title: 'ferry',
      content: 'The ferry leaves at noon.',
      namespace: 'lists',
      tags: '["harbour","timetable"]',
      metadata: '{"line":7}',
    });
    const id = String(stored.body['id']);
    const { body } = await call('memory_get', { id });
    const memory = (body['memory'] ?? body) as Answer;
    assert.deepEqual(memory['tags'], ['harbour', 'timetable']);
    assert.equal((memory['metadata'] as Answer)['line'], 7);
    for (const tags of ['["harbour"]', ['harbour'], 'harbour']) {
      const recalled = await call('memory_recall', {
        context: 'ferry',
        namespace: 'lists',
        tags,
        format: 'json',
      });
      assert.equal(recalled.body['count'], 1, JSON.stringify(tags));
    }
    for (const kinds of ['["observation"]', ['observation'], 'observation'])
      assert.equal(
        (await call('memory_recall', { context: 'ferry', namespace: 'lists', kinds, format: 'json' })).body[
          'count'
        ],
        1,
      );
    const second = await call('memory_store', { title: 'tram', content: 'It waits.', namespace: 'lists' });
    const joined = await call('memory_consolidate', {
      ...{ ids: JSON.stringify([id, second.body['id']]), title: 'both', summary: 's', namespace: 'lists' },
    });
    assert.equal(joined.body['consolidated'], 2, joined.texts[0]);
  });

  it('keeps a text that looks like a list where a text is meant', async () => {
    const content = '["not", "a list"]';
    const stored = await call('memory_store', { title: '{"a":1}', content, namespace: 'texts' });
    const { body } = await call('memory_get', { id: stored.body['id'] });
    const memory = (body['memory'] ?? body) as Answer;
    assert.deepEqual([memory['title'], memory['content']], ['{"a":1}', content]);
  });

  it('refuses a kind that is none of the ten', async () => {
    for (const kinds of ['observatoin', ['note'], '["event","thing"]']) {
      const { error } = await call('memory_recall', { context: 'ferry', kinds });
      assert.equal(error?.code, -32602, JSON.stringify(kinds));
      assert.match(error!.message, /observation/);
    }
    assert.equal((await call('memory_recall', { context: 'ferry', kinds: 'all' })).error, undefined);
  });

  it('runs no tool that removes or overwrites with an argument that it does not have', async () => {
    const names = OPERATIONS.filter(({ mcp, overwrites }) => mcp !== undefined && overwrites === true);
    assert.ok(names.length > 8, String(names.length));
    for (const { name } of names) {
      const { error } = await call(name, { dryRun: true, namespace: 'kept', id: 'x', ids: ['x', 'y'] });
      assert.equal(error?.data?.['code'], 'UNKNOWN_FIELD', name);
      assert.match(error!.message, /^nothing was changed: unknown argument.*"dryRun"/, name);
    }
    await call('memory_store', { title: 'kept', content: 'kept', namespace: 'kept' });
    const forget = await call('memory_forget', { namespace: 'kept', dryRun: true });
    assert.match(forget.error!.message, /did you mean "dry_run"/);
    assert.equal(await count('kept'), 1);
  });

  it('names unknown arguments of the other tools after the answer, which stays what it was', async () => {
    const { texts, body } = await call('memory_store', {
      ...{ title: 'named', content: 'c', namespace: 'named' },
      prioritty: 9,
    });
    assert.equal(typeof body['id'], 'string');
    assert.deepEqual(texts.slice(1), [
      'Ignored unknown argument "prioritty" (did you mean "priority"?) of memory_store.',
    ]);
    assert.equal((await call('memory_list', { namespace: 'named' })).texts.length, 1);
    const { error } = await call('memory_recall', { query: 'named' });
    assert.equal(error?.message, 'context is required (unknown argument "query" of memory_recall)');
  });

  it('takes the plain meaning of a text, and refuses a text with another reading', async () => {
    const stored = await call('memory_store', {
      ...{ title: 'plain', content: 'c', namespace: 'plain', priority: '8', confidence: '0.5' },
      ...{ tags: 'ops, night', force: 'true' },
    });
    const { body } = await call('memory_get', { id: stored.body['id'] });
    assert.deepEqual([body['priority'], body['confidence'], body['tags']], [8, 0.5, ['ops', 'night']]);
    const day = String(body['created_at']).slice(0, 10);
    for (const [bounds, expected] of [
      [{ since: day }, 1],
      [{ until: day }, 1],
      [{ since: day, until: day }, 1],
      [{ since: '2099-01-01' }, 0],
      [{ until: '2020-01-01' }, 0],
    ] as const) {
      const listed = await call('memory_list', { namespace: 'plain', format: 'json', limit: '5', ...bounds });
      assert.equal(listed.body['count'], expected, JSON.stringify(bounds));
    }
    for (const wrong of [
      ...[{ priority: 'eight' }, { priority: '8.5' }, { priority: '' }, { priority: ' 8' }, { force: '1' }],
      ...[{ force: 'yes' }, { tags: '' }, { tags: 'a,,b' }, { expires_at: '2099-01-01' }],
    ]) {
      const { error } = await call('memory_store', { title: 'wrong', content: 'c', ...wrong });
      assert.deepEqual(error?.data?.['fields'], Object.keys(wrong), JSON.stringify(wrong));
    }
    assert.equal((await call('memory_list', { since: '2026-02-30' })).error?.code, -32602);
    const [link, id] = [{ relation: 'related_to' }, stored.body['id']];
    const ends = await call('memory_store', { title: 'other end', content: 'c', namespace: 'plain' });
    const between = { ...link, source_id: id, target_id: ends.body['id'] };
    for (const refused of [{ valid_until: '2099-01-01' }, { valid_from: '2026-02-30' }]) {
      assert.equal((await call('memory_link', { ...between, ...refused })).error?.code, -32602);
    }
    const linked = await call('memory_link', { ...between, valid_from: '2020-01-02' });
    assert.equal(linked.body['valid_from'], '2020-01-02T00:00:00.000Z');
    assert.equal((await call('memory_kg_timeline', { source_id: id, since: '2020-01-02' })).body['count'], 1);
    assert.equal((await call('memory_kg_timeline', { source_id: id, until: '2020-01-01' })).body['count'], 0);
    assert.equal(
      (await call('memory_kg_query', { source_id: id, valid_at: '2020-01-02' })).error?.code,
      -32602,
    );
    const named = { canonical_name: 'Ada', namespace: 'plain', aliases: 'Lovelace, Ada' };
    assert.equal((await call('memory_entity_register', named)).error?.code, -32602);
  });

  it('acts for the agent that a call names, with tools that have no such field too', async () => {
    for (const agent of ['ai:ada', 'ai:bob']) {
      for (const title of ['one', 'two'])
        await call('memory_store', { title, content: agent, namespace: agent.slice(3), agent_id: agent });
    }
    const ids = async (namespace: string) => {
      const listed = await call('memory_list', { namespace, format: 'json' });
      return (listed.body['memories'] as { id: string }[]).map(({ id }) => id);
    };
    const joined = await call('memory_consolidate', {
      ...{ ids: await ids('ada'), title: 'both', summary: 's', namespace: 'ada' },
      agent_id: 'ai:ada',
    });
    const { body } = await call('memory_get', { id: joined.body['id'] });
    const memory = (body['memory'] ?? body) as Answer;
    assert.equal((memory['metadata'] as Answer)['agent_id'], 'ai:ada');
    for (const id of await ids('bob')) await call('memory_delete', { id });
    const purged = await call('memory_archive_purge', { agent_id: 'ai:bob' });
    assert.deepEqual(purged.body, { purged: 2, owner_scope: 'caller' });
    const left = await call('memory_archive_list', { format: 'json' });
    assert.ok(Number(left.body['count']) >= 2, 'the copies of others stay');
  });
});
