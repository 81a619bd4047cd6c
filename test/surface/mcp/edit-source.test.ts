import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from '../cli/cli-process.js';
import { textOf } from './mcp-lines.js';
import { McpSession } from './mcp-session.js';

type Json = Record<string, unknown>;

describe('an edit by a model or a hook', { timeout: 120_000 }, () => {
  const home = temporaryFolder('edit-source');
  const server = new McpSession({ home, profile: 'full' });
  after(() => server.end());
  let calls = 0;
  const text = async (name: string, fields: Json) => {
    calls += 1;
    const message = await server.call(calls, name, fields);
    return message.error === undefined ? textOf(message) : JSON.stringify(message.error);
  };
  const call = async (name: string, fields: Json) => JSON.parse(await text(name, fields)) as Json;
  const store = async (title: string, more: Json = {}) =>
    String((await call('memory_store', { title, content: `about ${title}`, ...more }))['id']);
  const memory = (id: string) => call('memory_get', { id });

  it('keeps the memory in the archive as it was, and says which one supersedes it', async () => {
    for (const source of ['llm', 'hook']) {
      const id = await store(source, { tags: ['kept'], priority: 8 });
      const before = await memory(id);
      const answer = await call('memory_update', { id, content: 'changed', edit_source: source });
      const { new_id: next } = answer;
      assert.deepEqual(
        [answer['updated'], answer['edit_source'], answer['superseded_id']],
        [true, source, id],
      );
      assert.notEqual(next, id);
      const stands = await memory(String(next));
      assert.deepEqual(
        [stands['title'], stands['content'], stands['tags'], stands['priority'], stands['version']],
        [source, 'changed', ['kept'], 8, 1],
      );
      assert.equal((stands['metadata'] as Json)['agent_id'], (before['metadata'] as Json)['agent_id']);
      assert.match(await text('memory_get', { id }), /not found/);
      const { archived } = await call('memory_archive_list', {});
      const kept = (archived as Json[]).find((row) => row['id'] === id);
      assert.deepEqual([kept?.['archive_reason'], kept?.['content']], ['superseded', `about ${source}`]);
      // Where both are there, the link shows.
      await call('memory_update', { id: next, title: `${source} again` });
      await call('memory_archive_restore', { id });
      const { links } = await call('memory_get_links', { id: next });
      assert.deepEqual(
        (links as Json[]).map(({ relation, source_id, target_id }) => [relation, source_id, target_id]),
        [['supersedes', next, id]],
      );
    }
  });

  it('is an edit in place for a person, and says so', async () => {
    const id = await store('by hand');
    for (const fields of [{}, { edit_source: 'human' }]) {
      const answer = await call('memory_update', { id, content: JSON.stringify(fields), ...fields });
      assert.deepEqual(
        [answer['edit_source'], answer['superseded_id'], answer['new_id'], (answer['memory'] as Json)['id']],
        ['human', undefined, undefined, id],
      );
    }
    assert.match(await text('memory_update', { id, content: 'x', edit_source: 'cat' }), /edit_source/);
  });

  it('keeps to the rules of an edit', async () => {
    const id = await store('ruled');
    const stale = await text('memory_update', { id, content: 'x', edit_source: 'llm', expected_version: 9 });
    assert.match(stale, /conflict/i);
    const taken = await text('memory_update', { id, title: 'by hand', edit_source: 'llm' });
    assert.match(taken, /CONFLICT/);
    assert.equal((await memory(id))['version'], 1);
  });

  it('leaves what is found by its id: an entity, and the standard of a namespace', async () => {
    const { entity_id } = await call('memory_entity_register', {
      canonical_name: 'Ada',
      namespace: 'people',
    });
    const pinned = await store('the rules');
    await call('memory_namespace_set_standard', { namespace: 'ruled', id: pinned });
    for (const id of [entity_id, pinned]) {
      assert.match(
        await text('memory_update', { id, content: 'x', edit_source: 'llm' }),
        /CONFLICT.*human|human.*CONFLICT/s,
      );
      assert.notEqual((await memory(String(id)))['content'], 'x');
    }
  });

  it('is told by the command line', async () => {
    const id = await store('typed');
    const done = await run(home, ['update', id, '--content', 'new', '--edit-source', 'hook']);
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, new RegExp(`^stored: \\S+, which supersedes ${id}`));
  });
});
