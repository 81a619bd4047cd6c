import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CONTENT_BYTES_MAX, PAGE_BYTES_MAX } from '../../../protocol/base/limits.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const COUNT = 150;
type Row = { readonly id: string; readonly content: string };

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
  const content = `ferry ${'x'.repeat(CONTENT_BYTES_MAX - 6)}`;
  for (let n = 0; n < COUNT; n += 1) {
    const body = { title: `large ${n}`, content, metadata: { family: 'core' } };
    const answer = await node.send('POST', '/api/v1/memories', body);
    assert.equal(answer.status, 201, answer.text);
  }
});
after(() => node.close());

async function page(path: string, key: 'memories' | 'results') {
  const { status, json, text } = await node.send('GET', `/api/v1/${path}`);
  assert.equal(status, 200);
  return { body: json!, rows: json![key] as Row[], bytes: text.length };
}

describe('a page of large rows', () => {
  for (const [path, key] of [
    ['memories?limit=1000', 'memories'],
    ['search?q=ferry&limit=1000', 'results'],
  ] as const) {
    it(`${path} ends at its bytes, says so, and goes on where it says`, async () => {
      const seen = new Set<string>();
      let offset: number | undefined = 0;
      let pages = 0;
      while (offset !== undefined) {
        const { body, rows, bytes } = await page(`${path}&offset=${offset}`, key);
        pages += 1;
        assert.ok(pages <= COUNT, 'there is no end of pages');
        assert.equal(body['count'], rows.length);
        assert.ok(rows.length > 0);
        assert.ok(bytes < PAGE_BYTES_MAX * 1.2, `${bytes} bytes`);
        for (const { id } of rows) seen.add(id);
        const next = body['next_offset'] as number | undefined;
        assert.equal(body['truncated'], next === undefined ? undefined : true);
        if (next !== undefined) assert.equal(next, offset + rows.length);
        offset = next;
      }
      assert.equal(seen.size, COUNT);
      assert.equal(pages, Math.ceil(COUNT / Math.floor(PAGE_BYTES_MAX / (CONTENT_BYTES_MAX + 100))));
    });
  }

  it('in TOON says it too', async () => {
    const { text } = await node.send('GET', '/api/v1/memories?limit=1000&format=toon_compact');
    assert.match(text, /^count:\d+\|truncated:true\|next_offset:\d+\|next_cursor:[\w.-]+\n/);
  });

  it('of a family is bounded alike', async () => {
    const { json } = await node.send('POST', '/api/v1/memory_load_family', { family: 'core', k: 100 });
    assert.equal(json!['count'], 100, 'a hundred of these rows fit');
    assert.ok(!('truncated' in json!));
  });

  it('that fits says nothing', async () => {
    const { body } = await page('memories?limit=100', 'memories');
    assert.ok(!('truncated' in body) && !('next_offset' in body));
  });
});
