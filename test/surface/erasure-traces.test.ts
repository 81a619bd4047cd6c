import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { filesWith } from '../support/files-with.js';
import { rowsWith } from '../support/rows-with.js';
import { onPostgres, openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';
import { run } from './cli/cli-process.js';

type Body = Record<string, unknown>;

/** Nothing of a memory is left in the rows of a node, and, where its database is a file, in no file of its home. */
describe('an erasure reaches what was made of a memory on its node', () => {
  const home = temporaryFolder('erasure-traces');
  let daemon: DaemonProcess;

  const call = async (
    method: string,
    path: string,
    body?: object,
    agent = 'ai:alice',
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(`${daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Body };
  };
  const made = async (path: string, body: object, agent?: string): Promise<Body> => {
    const answer = await call('POST', path, body, agent);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const store = async (mark: string, namespace = 'lab'): Promise<string> =>
    String((await made('/memories', { title: `${mark} title`, content: `${mark} text`, namespace }))['id']);
  const erase = async (id: string, agent?: string) => {
    const { status, body } = await call('DELETE', `/memories/${id}?erase=true`, undefined, agent);
    assert.deepEqual([status, body['erased'], body['finished_here']], [200, true, true]);
    return body;
  };
  const rows = (mark: string): string[] => {
    const db = openBeside({ home });
    try {
      return rowsWith(db, mark);
    } finally {
      db.close();
    }
  };
  const isIn = (mark: string, ...columns: string[]) => {
    const found = rows(mark);
    for (const column of columns) assert.ok(found.includes(column), `${column} in ${found.join()}`);
  };
  const isGone = (mark: string) => assert.deepEqual([rows(mark), filesWith(home, mark)], [[], []]);

  before(async () => {
    daemon = await startDaemonProcess(home, await freePort(), {
      ...{ SVC_ALLOW_LOOPBACK_WEBHOOKS: '1', SVC_WEBHOOK_HMAC_SECRET: 'ab'.repeat(16) },
    });
    for (const agent_id of ['ai:alice', 'ai:bob'])
      await made('/agents', { agent_id, agent_type: 'ai:test' }, agent_id);
  });
  after(() => daemon.end('SIGTERM'));

  it('in events that wait for a receiver', async () => {
    await made('/subscriptions', {
      ...{ url: 'http://127.0.0.1:9/hook', events: '*', namespace_filter: 'lab/hooked' },
      secret: 'a secret of the test',
    });
    const id = await store('zqevent', 'lab/hooked');
    await call('DELETE', `/memories/${id}`);
    isIn('zqevent', 'announced_events.event', 'archived_memories.content');
    await erase(id);
    isGone('zqevent');
  });

  it('in the names of an entity', async () => {
    const names = { canonical_name: 'zqname one', aliases: ['zqname two', 'Zqname Three'] };
    const entity = await made('/entities', { ...names, namespace: 'people' });
    isIn('zqname', 'records.payload', 'operations.payload');
    await erase(String(entity['entity_id']).replace(/^ent-/, ''));
    isGone('zqname');
    const again = await made('/entities', { ...names, namespace: 'people' });
    assert.equal(again['created'], true);
    assert.notEqual(again['entity_id'], entity['entity_id']);
    await erase(String(again['entity_id']).replace(/^ent-/, ''));
    isGone('zqname');
  });

  it('in actions that wait for an approval, and in those that were approved', async () => {
    const standard = await store('a standard', 'gated');
    const governance = { write: 'approve', delete: 'any', approver: { agent: 'ai:bob' } };
    await made('/namespaces/gated/standard', { id: standard, governance });
    const asked = await made('/memories', {
      title: 'zqwaits title',
      content: 'zqwaits text',
      namespace: 'gated',
    });
    const done = await made(`/pending/${asked['pending_id']}/approve`, {}, 'ai:bob');
    const id = String(done['memory_id']);
    assert.equal((await call('PUT', `/memories/${id}`, { content: 'zqwaits longer' })).status, 202);
    isIn('zqwaits', 'records.payload');
    await erase(id);
    isGone('zqwaits');
  });

  it('when an approver lets it, which the owner then finds done', async () => {
    const standard = await store('a standard', 'asking');
    const governance = { write: 'any', delete: 'approve', approver: { agent: 'ai:bob' } };
    await made('/namespaces/asking/standard', { id: standard, governance });
    const id = await store('zqasked', 'asking');
    const asked = await call('DELETE', `/memories/${id}?erase=true`);
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    isIn('zqasked', 'memories.content');
    await made(`/pending/${asked.body['pending_id']}/approve`, {}, 'ai:bob');
    await until('the erasure is finished', async () => {
      const { body } = await call('GET', `/erasures?id=${id}`);
      return (body['erasures'] as { missing: string[] }[])[0]?.missing.length === 0;
    });
    isGone('zqasked');
  });

  it('but not of the record of an agent, which has commands of its own', async () => {
    const { body } = await call('GET', '/memories?namespace=_agents&limit=1', undefined, 'ai:bob');
    const [record] = (body['memories'] ?? []) as { id: string }[];
    assert.ok(record !== undefined, JSON.stringify(body));
    const { status } = await call('DELETE', `/memories/${record.id}?erase=true`, undefined, 'ai:bob');
    assert.equal(status, 403);
    assert.notEqual((await run(home, ['delete', record.id, '--erase'])).code, 0);
  });

  it('in the turn that it tells, which is not taken in again', async () => {
    const turn = {
      ...{ host_session_id: 's1', host_turn_index: 0, role: 'user', namespace: 'lab/turns' },
      ...{ content: 'zqturn says hello', tool_calls: [{ tool: 'sh', brief: 'zqturn brief' }] },
    };
    const { memory_id: id } = await made('/capture_turn', turn);
    isIn('zqturn', 'records.payload');
    await erase(String(id));
    isGone('zqturn');
    assert.equal((await made('/capture_turn', turn))['dedup_hit'], true);
    isGone('zqturn');
  });

  it('in a message, which its sender erases', async () => {
    const note = { target_agent_id: 'ai:bob', title: 'zqnote title', payload: 'zqnote text' };
    const { id } = await made('/notify', note);
    await made('/inbox/read', { ids: [id] }, 'ai:bob').catch(() => null);
    await erase(String(id));
    isGone('zqnote');
  });

  it('in what recalls, links and repeated calls keep', async () => {
    const body = { title: 'zqkept title', content: 'zqkept text', namespace: 'lab' };
    const send = () => call('POST', '/memories', body, 'ai:alice', { 'idempotency-key': 'k1' });
    const id = String((await send()).body['id']);
    await made('/links', { source_id: id, target_id: await store('other'), relation: 'related_to' });
    await made('/recall', { context: 'zqkept title', namespace: 'lab' });
    await erase(id);
    isGone('zqkept');
    const again = await send();
    assert.deepEqual([again.status, again.body['code']], [410, 'ERASED']);
    isGone('zqkept');
  });

  it('in the file that a policy had written of a reflection', async () => {
    const governance = { write: 'any', auto_export_reflections_to_filesystem: true };
    await made('/namespaces/thoughts/standard', { id: await store('a standard', 'thoughts'), governance });
    const source_ids = [await store('a source', 'thoughts')];
    const said = { title: 'zqthought title', content: 'zqthought text', namespace: 'thoughts' };
    const { id } = await made('/memory_reflect', { source_ids, ...said });
    const file = join(home, 'reflections/thoughts', `${id}.md`);
    await until('the file is written', () => Promise.resolve(existsSync(file)));
    await erase(String(id));
    isGone('zqthought');
    assert.deepEqual(readdirSync(join(home, 'reflections/thoughts')), []);
  });

  it('and names the files that others may have: a forensic bundle and exported reflections', async () => {
    const folder = temporaryFolder('erasure-outside');
    const id = await store('zqbundle');
    const bundle = join(folder, 'case.tar');
    const asked = ['--memory-id', id, '--include-content', '--output', bundle];
    assert.equal((await run(home, ['export-forensic-bundle', ...asked])).code, 0);
    const exported = await run(home, ['export-reflections', '--out-dir', join(folder, 'reflections')]);
    assert.equal(exported.code, 0, exported.err);
    const { id: reflection } = await made('/memory_reflect', {
      ...{ source_ids: [id], title: 'a thought', content: 'about it', namespace: 'lab' },
    });
    await run(home, ['export-reflections', '--out-dir', join(folder, 'thoughts')]);
    await erase(String(reflection));
    await erase(id);
    const { out } = await run(home, ['erasure', 'status', '--json']);
    const copies = (JSON.parse(out) as { copies: { path: string }[] }).copies.map(({ path }) => path);
    assert.deepEqual(copies.toSorted(), [bundle, join(folder, 'thoughts')]);
  });

  it('by a command of the server too, which removes dead rows at once', {
    skip: !onPostgres && 'a file is written anew instead',
  }, async () => {
    const db = openBeside({ home });
    const ask = (what: string) =>
      db
        .prepare(
          `SELECT sum(${what}) FROM pg_stat_user_tables
           WHERE relname IN ('memories', 'memories_fts', 'archived_memories', 'operations', 'records', 'tombstones')`,
        )
        .pluck()
        .get();
    const before = Number(ask('vacuum_count'));
    const id = await store('zqvacuum');
    await call('DELETE', `/memories/${id}`);
    await erase(id);
    await until('the server has counted it, and no dead row', () =>
      Promise.resolve(Number(ask('vacuum_count')) >= before + 6 && Number(ask('n_dead_tup')) === 0),
    );
    db.close();
  });

  it('also when the erasure is asked for by who may not: nothing goes', async () => {
    const id = await store('zqguarded');
    for (const agent of ['ai:bob', 'ai:nobody']) {
      const { status } = await call('DELETE', `/memories/${id}?erase=true`, undefined, agent);
      assert.equal(status, 403);
    }
    assert.equal((await call('GET', `/memories/${id}`)).status, 200);
    isIn('zqguarded', 'memories.content');
  });
});
