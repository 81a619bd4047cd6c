import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { filesWith } from '../support/files-with.js';
import { auditLog } from '../support/log-audit.js';
import { onlyOnSqlite, openBeside } from '../support/test-store.js';
import { run } from './cli/cli-process.js';

const MARK = 'zqxmarker';

describe('an erasure on one node', { skip: onlyOnSqlite('it looks into files') }, () => {
  const home = temporaryFolder('erasure');
  let daemon: DaemonProcess;
  const call = async (method: string, path: string, body?: object, agent = 'ai:alice') => {
    const answer = await fetch(`${daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const store = async (mark: string, more: object = {}) => {
    const { status, body } = await call('POST', '/memories', {
      ...{ title: `${mark}title`, content: `the word ${mark}text is here`, namespace: 'lab' },
      ...{ tags: [`${mark}tag`], metadata: { note: `${mark}meta` } },
      ...more,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return String(body['id']);
  };

  before(async () => {
    daemon = await startDaemonProcess(home, await freePort(), {
      ...{ SVC_ADMIN_AGENT_IDS: 'ai:root', SVC_ADMIN_HEADER_TRUST: '1' },
    });
    // Rows around it, so that pages are shared, split and freed.
    for (let at = 0; at < 40; at += 1)
      await store(`other${at} `, { content: `plain words ${at} `.repeat(40) });
  });
  after(() => daemon.end('SIGTERM'));

  it('leaves nothing of a memory, of its earlier texts and of its copies in any file', async () => {
    const id = await store(MARK);
    for (let at = 0; at < 5; at += 1)
      await call('PUT', `/memories/${id}`, { content: `${MARK}edit${at} ${'and more '.repeat(at * 300)}` });
    const archived = await store(`${MARK}old`);
    await call('DELETE', `/memories/${archived}`);
    assert.notDeepEqual(filesWith(home, MARK), []);
    for (const one of [id, archived]) {
      const { status, body } = await call('DELETE', `/memories/${one}?erase=true`);
      assert.deepEqual([status, body['erased'], body['finished_here']], [200, true, true]);
    }
    assert.deepEqual(filesWith(home, MARK), []);
    assert.equal((await call('GET', `/memories/${id}`)).status, 404);
    assert.equal((await call('POST', `/archive/${id}/restore`, {})).status, 404);
  });

  it('is for the owner and admins, also of an archived memory', async () => {
    const id = await store('guarded');
    assert.equal((await call('DELETE', `/memories/${id}?erase=true`, undefined, 'ai:bob')).status, 403);
    await call('DELETE', `/memories/${id}`);
    assert.equal((await call('DELETE', `/memories/${id}?erase=true`, undefined, 'ai:bob')).status, 403);
    assert.equal((await call('DELETE', `/memories/${id}?erase=true`)).status, 200);
    assert.equal((await call('DELETE', `/memories/${id}?erase=true`)).status, 404);
  });

  it('names what was made from the memory', async () => {
    const id = await store('source');
    const made = await call('POST', '/memory_reflect', {
      ...{ source_ids: [id], title: 'made', content: 'made from it', namespace: 'lab' },
    });
    assert.equal(made.status, 200, JSON.stringify(made.body));
    const { body } = await call('DELETE', `/memories/${id}?erase=true`);
    assert.deepEqual(body['derived'], [made.body['id']]);
  });

  it('of many follows the filter of a forget', async () => {
    await store(`${MARK}many1`, { namespace: 'lab/many' });
    await store(`${MARK}many2`, { namespace: 'lab/many' });
    const { code, out, err } = await run(home, ['forget', '-n', 'lab/many', '--erase', '--yes', '--json']);
    assert.equal(code, 0, err);
    const { deleted, erased, finished_here } = JSON.parse(out);
    assert.deepEqual([deleted, erased, finished_here], [2, true, true]);
    assert.deepEqual(filesWith(home, MARK), []);
  });

  it('says where it is done, to who erased it, to admins and to the operator, who hear of files from before', async () => {
    const folder = temporaryFolder('erasure-backup');
    const id = await store('told');
    assert.equal((await run(home, ['backup', '--to', folder])).code, 0);
    await call('DELETE', `/memories/${id}?erase=true`);
    const own = await call('GET', `/erasures?id=${id}`);
    const [one] = own.body['erasures'] as Record<string, unknown>[];
    assert.deepEqual([one?.['id'], one?.['erased_by'], one?.['missing']], [id, 'ai:alice', []]);
    assert.equal((one!['done'] as string[]).length, 1);
    assert.deepEqual(own.body['copies'], []);
    assert.deepEqual((await call('GET', `/erasures?id=${id}`, undefined, 'ai:bob')).body['erasures'], []);
    const { code, out, err } = await run(home, ['erasure', 'status', id, '--json']);
    assert.equal(code, 0, err);
    const { copies } = JSON.parse(out) as { copies: { path: string; what: string }[] };
    assert.deepEqual(
      copies.map(({ path, what }) => [path.startsWith(folder), what]),
      [[true, 'backup']],
    );
    assert.match((await run(home, ['erasure', 'status'])).out, /gone on 1 of 1 nodes/);
    const { body } = await call('GET', `/erasures?id=${id}`, undefined, 'ai:root');
    assert.deepEqual([body['count'], body['copies']], [1, copies]);
  });

  it('keeps the id: an import under it is refused', async () => {
    const id = await store('again');
    const exported = JSON.parse((await run(home, ['export'])).out) as { memories: { id: string }[] };
    await call('DELETE', `/memories/${id}?erase=true`);
    const only = { memories: exported.memories.filter((memory) => memory.id === id) };
    const { out } = await run(home, ['import', '-', '--json'], { stdin: JSON.stringify(only) });
    assert.match(out, /was erased/);
    assert.equal((await call('GET', `/memories/${id}`)).status, 404);
  });

  it('is told by the audit chain without what the memory said, and the log verifies', async () => {
    await daemon.end('SIGTERM');
    const path = join(home, 'mnemesh.db');
    assert.deepEqual(auditLog(path), []);
    assert.deepEqual(filesWith(home, MARK), []);
    const db = openBeside({ path });
    const told = db
      .prepare("SELECT agent_id, payload FROM signed_events WHERE event_type = 'memory.erased'")
      .all();
    db.close();
    assert.ok(told.some((row) => (row as { agent_id: string }).agent_id === 'ai:alice'));
  });
});
