import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const AGENT = { 'x-agent-id': 'ai:tester' };
let node: HttpNode;
before(async () => {
  node = await openHttpNode({ corsOrigins: ['https://app.example'] });
});
after(() => node.close());

async function stored(title: string): Promise<string> {
  const answer = await node.send('POST', '/api/v1/memories', { title, content: `About ${title}.` }, AGENT);
  assert.equal(answer.status, 201);
  return answer.json!['id'] as string;
}

const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  node.send(method, path, undefined, { ...AGENT, ...headers });

test('the tag of a memory stays while it is read, and is another after a change or a link', async () => {
  const path = `/api/v1/memories/${await stored('tagged')}`;
  const first = await read(path);
  const tag = first.headers.get('etag')!;
  assert.match(tag, /^"1-[0-9a-f]{20}"$/);
  for (let index = 0; index < 3; index += 1) assert.equal((await read(path)).headers.get('etag'), tag);

  const same = await read(path, { 'if-none-match': tag });
  assert.equal(same.status, 304);
  assert.equal(same.text, '');
  assert.equal(same.headers.get('etag'), tag);
  assert.equal(same.headers.get('content-type'), null);
  for (const known of [`"other", ${tag}`, `W/${tag}`, '*']) {
    assert.equal((await read(path, { 'if-none-match': known })).status, 304, known);
  }
  for (const unknown of ['"1"', 'nonsense', '']) {
    assert.equal((await read(path, { 'if-none-match': unknown })).status, 200, unknown);
  }
  assert.equal((await read(path, { 'if-none-match': tag }, 'HEAD')).status, 304);

  const other = await stored('other end');
  const link = { source_id: path.split('/').at(-1), target_id: other, relation: 'related_to' };
  assert.equal((await node.send('POST', '/api/v1/links', link, AGENT)).status, 201);
  const linked = await read(path, { 'if-none-match': tag });
  assert.equal(linked.status, 200, 'a link is part of the answer');
  assert.match(linked.headers.get('etag')!, /^"1-/);

  const changed = await node.send('PUT', path, { content: 'changed' }, AGENT);
  assert.equal(changed.status, 200);
  assert.match((await read(path)).headers.get('etag')!, /^"2-/);
});

test('If-Match takes the tag of a memory, and refuses an old one', async () => {
  const path = `/api/v1/memories/${await stored('matched')}`;
  const tag = (await read(path)).headers.get('etag')!;
  const put = (content: string, match: string) =>
    node.send('PUT', path, { content }, { ...AGENT, 'if-match': match });
  assert.equal((await put('second', tag)).status, 200);
  const old = await put('third', tag);
  assert.deepEqual([old.status, old.json?.['code']], [409, 'VERSION_CONFLICT']);
  assert.equal((await put('third', '"2"')).status, 200);
  for (const bad of ['"2-xyz"', '"2-', 'W/"2"', '2-abc', '"-abc"']) {
    assert.equal((await put('fourth', bad)).status, 400, bad);
  }
});

test('If-Match guards a delete too, and no other write takes it without a look', async () => {
  const path = `/api/v1/memories/${await stored('guarded')}`;
  const tag = (await read(path)).headers.get('etag')!;
  assert.equal((await node.send('PUT', path, { content: 'second' }, AGENT)).status, 200);
  const old = await node.send('DELETE', path, undefined, { ...AGENT, 'if-match': tag });
  assert.deepEqual([old.status, old.json?.['code']], [409, 'VERSION_CONFLICT']);
  const other = await node.send('POST', `${path}/promote`, {}, { ...AGENT, 'if-match': '"2"' });
  assert.deepEqual([other.status, other.json?.['code']], [400, 'VALIDATION_FAILED']);
  assert.match(String(other.json?.['error']), /^If-Match: this route compares no version/);
  assert.equal((await read(path)).status, 200);
  const gone = await node.send('DELETE', path, undefined, { ...AGENT, 'if-match': '"2"' });
  assert.equal(gone.status, 200);
});

test('lists have the digest of their body, recalls and errors have none', async () => {
  await stored('listed');
  const path = '/api/v1/memories?limit=1';
  const tag = (await read(path)).headers.get('etag')!;
  assert.match(tag, /^W\/"[0-9a-f]{20}"$/);
  assert.equal((await read(path, { 'if-none-match': tag })).status, 304);
  await stored('listed later');
  assert.equal((await read(path, { 'if-none-match': tag })).status, 200);
  const toon = await read(`${path}&format=toon`);
  assert.match(toon.headers.get('etag')!, /^W\//);
  assert.notEqual(toon.headers.get('etag'), tag);
  assert.equal((await read('/api/v1/recall?context=listed')).headers.get('etag'), null);
  assert.equal((await read('/api/v1/memories/00000000', { 'if-none-match': '*' })).status, 404);
  assert.equal((await node.send('POST', '/api/v1/recall', { context: 'x' })).headers.get('etag'), null);
});

test('another caller does not learn by a tag that a hidden memory is there', async () => {
  const answer = await node.send(
    'POST',
    '/api/v1/memories',
    { title: 'hidden', content: 'x', scope: 'private' },
    { 'x-agent-id': 'ai:owner' },
  );
  const path = `/api/v1/memories/${answer.json!['id']}`;
  const own = await read(path, { 'x-agent-id': 'ai:owner' });
  const tag = own.headers.get('etag')!;
  const other = await read(path, { 'x-agent-id': 'ai:other', 'if-none-match': tag });
  assert.equal(other.status, 404);
  assert.equal(other.headers.get('etag'), null);
});

test('a page of another site reads the tag', async () => {
  const path = `/api/v1/memories/${await stored('seen by a page')}`;
  const answer = await read(path, { origin: 'https://app.example' });
  assert.match(answer.headers.get('access-control-expose-headers')!, /etag/);
  const none = await read(path, {
    'if-none-match': answer.headers.get('etag')!,
    origin: 'https://app.example',
  });
  assert.equal(none.status, 304);
  assert.equal(none.headers.get('access-control-allow-origin'), 'https://app.example');
});
