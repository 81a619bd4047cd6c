import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

type Fields = Record<string, unknown>;

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ adminAgentIds: ['ops:admin'], adminHeaderTrust: true });
});
after(() => node.close());

const ADMIN = { 'x-agent-id': 'ops:admin' };

async function page(path: string, asked: Readonly<Record<string, string | number>> = {}): Promise<Fields> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) query.set(name, String(value));
  const answer = await node.send('GET', `/api/v1/${path}?${query}`, undefined, ADMIN);
  assert.equal(answer.status, 200, answer.text);
  return answer.json!;
}

const refused = async (path: string, field: string) => {
  const answer = await node.send('GET', `/api/v1/${path}`, undefined, ADMIN);
  assert.deepEqual([answer.status, answer.json!['code']], [400, 'VALIDATION_FAILED'], answer.text);
  assert.match(String(answer.json!['error']), new RegExp(`^${field}: `));
  assert.deepEqual(answer.json!['fields'], [field]);
};

const titles = (value: Fields, list = 'memories') => (value[list] as Fields[]).map(({ title }) => title);

async function store(namespace: string, title: string, more: Fields = {}): Promise<string> {
  const body = { namespace, title, content: `about ${title}`, ...more };
  const answer = await node.send('POST', '/api/v1/memories', body, ADMIN);
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json!['id']);
}

describe('a list by cursors', () => {
  it('shows each row once, in the order of the whole list, and ends', async () => {
    for (let n = 0; n < 11; n += 1) await store('whole', `row ${n}`, { priority: 1 + (n % 3) });
    const whole = titles(await page('memories', { namespace: 'whole', limit: 100 }));
    assert.equal(whole.length, 11);
    for (const limit of [1, 3, 10, 11, 12]) {
      const seen: unknown[] = [];
      let cursor: string | undefined;
      do {
        const asked = { namespace: 'whole', limit, ...(cursor === undefined ? {} : { cursor }) };
        const value = await page('memories', asked);
        assert.equal(value['count'], (value['memories'] as unknown[]).length);
        seen.push(...titles(value));
        cursor = value['next_cursor'] as string | undefined;
      } while (cursor !== undefined);
      assert.deepEqual(seen, whole, `limit ${limit}`);
    }
  });

  it('shows rows once although others are written and deleted between two pages', async () => {
    const ids = new Map<string, string>();
    for (let n = 0; n < 9; n += 1) ids.set(`row ${n}`, await store('moving', `row ${n}`));
    const first = await page('memories', { namespace: 'moving', limit: 3 });
    const seen = titles(first);
    for (let n = 0; n < 4; n += 1) await store('moving', `later ${n}`, { priority: 9 });
    const unseen = [...ids.keys()].filter((title) => !seen.includes(title));
    const gone = unseen.shift()!;
    for (const title of [String(seen[0]), String(seen[2]), gone])
      await node.send('DELETE', `/api/v1/memories/${ids.get(title)}`, undefined, ADMIN);
    let cursor = first['next_cursor'] as string | undefined;
    const rest: unknown[] = [];
    while (cursor !== undefined) {
      const value: Fields = await page('memories', { namespace: 'moving', limit: 2, cursor });
      rest.push(...titles(value));
      cursor = value['next_cursor'] as string | undefined;
    }
    assert.deepEqual(rest.toSorted(), unseen.toSorted());
  });

  it('may change its limit and its format, and says no offset', async () => {
    const { next_cursor: cursor } = await page('memories', { namespace: 'whole', limit: 2 });
    const query = new URLSearchParams({
      namespace: 'whole',
      limit: '4',
      format: 'toon',
      cursor: String(cursor),
    });
    const { status, text } = await node.send('GET', `/api/v1/memories?${query}`, undefined, ADMIN);
    assert.equal(status, 200);
    assert.match(text, /^count:4\|next_cursor:[\w-]+\n/);
    const last = await page('memories', { namespace: 'whole', limit: 100, cursor: String(cursor) });
    assert.deepEqual([last['count'], last['next_cursor'], last['next_offset']], [9, undefined, undefined]);
  });

  it('has the same tag while nothing changes', async () => {
    const ask = () => node.send('GET', '/api/v1/memories?namespace=whole&limit=2', undefined, ADMIN);
    const [one, other] = [await ask(), await ask()];
    assert.equal(one.headers.get('etag'), other.headers.get('etag'));
  });
});

describe('a cursor that was changed, or is of another list', () => {
  let cursor: string;
  before(async () => {
    for (let n = 0; n < 3; n += 1) await store('bound', `row ${n}`);
    cursor = String((await page('memories', { namespace: 'bound', limit: 1 }))['next_cursor']);
  });

  it('is refused with its name', async () => {
    const bytes = Buffer.from(cursor, 'base64url');
    const flipped = (at: number) => {
      const other = Buffer.from(bytes);
      other[at < 0 ? other.length + at : at]! ^= 1;
      return other.toString('base64url');
    };
    const plain = Buffer.from(JSON.stringify([10, '9999-01-01T00:00:00.000Z', 1])).toString('base64url');
    assert.doesNotMatch(bytes.toString('latin1'), /\d{4}-\d\d-\d\dT/, 'nobody reads the place in it');
    for (const changed of [
      'x',
      '.',
      plain,
      ...[0, 12, 40, -1].map(flipped),
      cursor.slice(0, 30),
      `${cursor}A`,
      `${cursor}=`,
    ]) {
      await refused(`memories?namespace=bound&cursor=${encodeURIComponent(changed)}`, 'cursor');
    }
    await refused(`memories?namespace=bound&cursor=${'a'.repeat(513)}`, 'cursor');
  });

  it('is refused where the filter or the operation is another', async () => {
    for (const other of ['', 'namespace=whole', 'namespace=bound&tier=long', 'namespace=bound&tags=a'])
      await refused(`memories?${other}&cursor=${cursor}`, 'cursor');
    await refused(`archive?namespace=bound&cursor=${cursor}`, 'cursor');
  });

  it('is refused by another node', async () => {
    const other = await openHttpNode();
    try {
      const answer = await other.send('GET', `/api/v1/memories?namespace=bound&cursor=${cursor}`);
      assert.equal(answer.json!['code'], 'VALIDATION_FAILED');
    } finally {
      await other.close();
    }
  });

  it('is refused with an offset', async () => {
    await refused(`memories?namespace=bound&offset=1&cursor=${cursor}`, 'offset');
  });

  it('shows nobody what they may not see', async () => {
    for (let n = 0; n < 3; n += 1) await store('secrets', `mine ${n}`, { scope: 'private' });
    const mine = await page('memories', { namespace: 'secrets', limit: 1 });
    const path = `/api/v1/memories?namespace=secrets&cursor=${mine['next_cursor']}`;
    const answer = await node.send('GET', path, undefined, { 'x-agent-id': 'ai:mallory' });
    assert.deepEqual([answer.status, answer.json!['count']], [200, 0]);
  });
});

describe('the archive by cursors', () => {
  it('shows each row once', async () => {
    for (let n = 0; n < 5; n += 1) {
      const id = await store('gone', `old ${n}`);
      await node.send('DELETE', `/api/v1/memories/${id}`, undefined, ADMIN);
    }
    const whole = titles(await page('archive', { namespace: 'gone' }), 'archived');
    assert.equal(whole.length, 5);
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const asked = { namespace: 'gone', limit: 2, ...(cursor === undefined ? {} : { cursor }) };
      const value = await page('archive', asked);
      seen.push(...titles(value, 'archived'));
      cursor = value['next_cursor'] as string | undefined;
    } while (cursor !== undefined);
    assert.deepEqual(seen, whole);
  });
});
