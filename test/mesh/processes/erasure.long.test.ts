import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { filesWith } from '../../support/files-with.js';
import { untilAnswer } from '../../support/wait.js';
import { ProcessMesh } from './process-mesh.js';
import type { ProcessNode } from './process-node.js';

const MARK = 'zqxmarker';
const DRAIN_WITHIN_MS = 60_000;

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function call(node: ProcessNode, method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${node.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** A memory whose mark is in its title, its text, its tags and its metadata. */
async function store(node: ProcessNode, mark: string): Promise<string> {
  const { status, body } = await call(node, 'POST', '/memories', {
    ...{ title: `${mark} title`, content: `the word ${mark}text is here`, namespace: 'lab', tier: 'long' },
    ...{ tags: [`${mark}tag`], metadata: { note: `${mark}meta` } },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return String(body['id']);
}

const erase = (node: ProcessNode, id: string) => call(node, 'DELETE', `/memories/${id}?erase=true`);

/** How many erasures a node has finished, and how many it has not. */
function erasuresOf(node: ProcessNode): { readonly done: number; readonly open: number } {
  const db = node.openBeside();
  try {
    return db
      .prepare<[], { done: number; open: number }>(
        `SELECT coalesce(sum(CASE WHEN finished_at IS NULL THEN 0 ELSE 1 END), 0) AS done,
           coalesce(sum(CASE WHEN finished_at IS NULL THEN 1 ELSE 0 END), 0) AS open FROM erasures`,
      )
      .get()!;
  } finally {
    db.close();
  }
}

describe('an erasure in a mesh of three processes', () => {
  let mesh: ProcessMesh;
  const ids: string[] = [];
  const node = (number: number) => mesh.nodes[number]!;
  const found = () => mesh.nodes.flatMap(({ home }) => filesWith(home, MARK));
  const finished = (count: number) =>
    untilAnswer(
      `all nodes have finished ${count} erasures`,
      () => Promise.resolve(mesh.nodes.map(erasuresOf)),
      (each) => each.every(({ done, open }) => done >= count && open === 0),
      { withinMs: 60_000, everyMs: 200, seen: () => mesh.errors() },
    );

  before(async () => {
    mesh = await ProcessMesh.form(3);
    for (let at = 0; at < 60; at += 1) await store(node(at % 3), `other${at}`);
    for (let at = 0; at < 8; at += 1) ids.push(await store(node(at % 3), `${MARK}${at}`));
    await mesh.drain(DRAIN_WITHIN_MS);
    for (const id of ids)
      await call(node(0), 'PUT', `/memories/${id}`, { content: `${MARK}edit ${'and more '.repeat(700)}` });
    await call(node(1), 'DELETE', `/memories/${ids[7]}`);
    await mesh.drain(DRAIN_WITHIN_MS);
  });
  after(() => mesh.close());

  it('leaves nothing in any file of any home, under a partition, a kill and a late node', async () => {
    const outside = temporaryFolder('kept');
    const exported = await node(0).must(['export']);
    assert.ok(exported.includes(MARK));
    assert.equal(
      mesh.nodes.every(({ home }) => filesWith(home, MARK).length > 0),
      true,
    );
    // A copy of the database from before comes back with the late node.
    await node(2).end('SIGTERM');
    node(2).keepCopy(outside);

    mesh.isolate(node(1), { kind: 'hold' });
    const edited = await call(node(1), 'PUT', `/memories/${ids[0]}`, {
      content: `${MARK}apart of the others`,
    });
    assert.equal(edited.status < 500, true, JSON.stringify(edited.body));
    await call(node(1), 'PUT', `/memories/${ids[1]}`, { title: `${MARK} new title apart` });
    for (const id of ids.slice(0, 4)) assert.equal((await erase(node(0), id)).status < 300, true);
    // The kill comes while erasures are under way; which of them are done is asked again.
    const rest = ids.slice(4).map((id) => erase(node(0), id).catch(() => null));
    await new Promise((resume) => setTimeout(resume, 15));
    await node(0).end('SIGKILL');
    await Promise.all(rest);
    await node(0).start();
    for (const id of ids.slice(4)) {
      const { status } = await erase(node(0), id);
      assert.ok([200, 202, 404].includes(status), `${id}: ${status}`);
    }

    node(2).putBack(outside);
    await mesh.drain(DRAIN_WITHIN_MS);
    await finished(ids.length);
    assert.deepEqual(found(), []);
    const status = JSON.parse(await node(2).must(['erasure', 'status', ids[0]!, '--json']));
    assert.deepEqual([status.members, status.erasures[0].missing], [3, []]);
    assert.equal(status.erasures[0].done.length, 3);

    // What the late node was put back from, and an export from before, do not bring it back.
    const file = join(outside, 'export.json');
    writeFileSync(file, exported);
    for (const each of mesh.nodes) await each.cli(['import', file]);
    for (const each of mesh.nodes)
      for (const id of ids) assert.equal((await call(each, 'GET', `/memories/${id}`)).status, 404);
    await mesh.drain(DRAIN_WITHIN_MS);
    assert.deepEqual(found(), []);
  });

  it('is not in a backup that is made after it', async () => {
    for (const each of mesh.nodes) {
      const folder = temporaryFolder('backup');
      await each.must(['backup', '--to', folder]);
      assert.notDeepEqual(filesWith(folder, 'other1'), []);
      assert.deepEqual(filesWith(folder, MARK), []);
    }
  });

  it('leaves chains that verify, and logs that say what is there', async () => {
    await mesh.drain(DRAIN_WITHIN_MS);
    await mesh.end();
    assert.deepEqual(found(), []);
  });
});
