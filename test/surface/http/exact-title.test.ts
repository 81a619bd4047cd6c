import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const TITLES = ['Deploy window', '週次レポート', 'Ｆｕｌｌ　ｗｉｄｔｈ', 'what is the plan?'] as const;

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
  const store = async (title: string, content: string, rest: object = {}) => {
    const { status, text } = await node.send('POST', '/api/v1/memories', { title, content, ...rest });
    assert.equal(status, 201, text);
  };
  for (const title of TITLES) await store(title, 'see the handbook', { priority: 1, tags: ['short'] });
  for (let at = 0; at < 300; at += 1) {
    await store(
      `The deploy window of week ${at}`,
      'Deploy window: the deploy window opens at nine. What is the plan of the deploy window? 週次レポート full width',
      { priority: 9 },
    );
  }
});
after(() => node.close());

async function first(q: string, more: Record<string, string> = {}): Promise<string> {
  const fields = new URLSearchParams({ q, min_score: '0', ...more });
  const { json, text } = await node.send('GET', `/api/v1/recall?${fields}`);
  const [row] = json!['memories'] as { title: string; score: number }[];
  assert.ok(row !== undefined, text);
  return row.title;
}

describe('a recall for the title of a memory', () => {
  it('answers that memory first, among hundreds that hold the same words more often', async () => {
    for (const title of TITLES) assert.equal(await first(title), title);
  });

  it('does not mind case, spaces and forms of width', async () => {
    for (const [query, title] of [
      ['  deploy   WINDOW ', 'Deploy window'],
      ['ｄｅｐｌｏｙ window', 'Deploy window'],
    ] as const)
      assert.equal(await first(query, { tags: 'short' }), title);
    assert.equal(await first(' Deploy window  '), 'Deploy window');
  });

  it('leaves the memory out where a filter does', async () => {
    const until = await first('Deploy window', { tags: 'none-such' }).catch(() => null);
    assert.equal(until, null);
    assert.notEqual(await first('Deploy window of week 7'), 'Deploy window');
  });
});
