import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { textOf } from './mcp-lines.js';
import { McpSession } from './mcp-session.js';

let mcp: McpSession;
let next = 0;
const call = async (name: string, args: object) => {
  next += 1;
  return mcp.call(next, name, args);
};
const json = async (name: string, args: object) =>
  JSON.parse(textOf(await call(name, { format: 'json', ...args }))) as Record<string, unknown>;
type Row = Record<string, unknown>;

before(async () => {
  mcp = new McpSession({ profile: 'full' });
  await mcp.request('init', 'initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  mcp.send({ method: 'notifications/initialized' });
  for (const title of ['ferry one', 'ferry two', 'harbour']) {
    await call('memory_store', { title, content: `${title} leaves at noon`, kind: 'event' });
  }
});
after(() => mcp.end());

describe('memory_recall over MCP', () => {
  it('requires context, and does not take query for it', async () => {
    for (const args of [{ query: 'ferry' }, { q: 'ferry' }, {}, { context: '  ' }]) {
      const answer = await call('memory_recall', args);
      assert.equal(answer.error?.code, -32602, JSON.stringify(answer));
      assert.match(answer.error!.message, /context is required/);
      assert.equal(answer.error!.data?.['code'], 'VALIDATION_FAILED');
    }
  });

  it('takes context tokens, kinds as a list or a text, and shows provenance unless told otherwise', async () => {
    const verbose = await json('memory_recall', { context: 'ferry', context_tokens: ['sea', 'boat'] });
    const [row] = verbose['memories'] as Row[];
    assert.equal(row!['confidence_tier'], 'confirmed');
    assert.equal(row!['freshness_state'], 'fresh');
    assert.equal(row!['content_attestation'], 'agent_attested');
    const plain = await json('memory_recall', { context: 'ferry', verbose_provenance: false });
    assert.ok(!('confidence_tier' in (plain['memories'] as Row[])[0]!));
    assert.equal((await json('memory_recall', { context: 'ferry', kinds: ['event'] }))['count'], 2);
    assert.equal((await json('memory_recall', { context: 'ferry', kinds: 'claim,event' }))['count'], 2);
    assert.equal((await json('memory_recall', { context: 'ferry', kinds: ['claim'] }))['count'], 0);
  });

  it('refuses the words of the command line for a confidence tier', async () => {
    const answer = await call('memory_recall', { context: 'ferry', confidence_tier: 'high' });
    assert.equal(answer.error?.code, -32602);
  });

  it('answers compact TOON unless told otherwise, as search and list do', async () => {
    for (const [name, args] of [
      ['memory_recall', { context: 'ferry' }],
      ['memory_search', { query: 'ferry' }],
      ['memory_list', {}],
    ] as const) {
      assert.match(
        textOf(await call(name, args)),
        name !== 'memory_list'
          ? /^count:\d.*\nmemories\[id\|title\|tier\|namespace\|priority\|score\|tags\|agent_id\|passage\]:\n/
          : /^count:\d.*\nmemories\[id\|title\|tier\|namespace\|priority\|score\|tags\|agent_id\]:\n/,
      );
      assert.match(textOf(await call(name, { ...args, format: 'toon' })), /\|metadata(\|passage)?\]:\n/);
      assert.equal((await call(name, { ...args, format: 'yaml' })).error?.code, -32602);
    }
  });

  it('has the passage that matches beside the title, or the full text, or none', async () => {
    const filler = 'Nothing about boats is said in this sentence of the note. ';
    const content = `${filler.repeat(60)}The zeppelin lands at the old airfield on Fridays. ${filler.repeat(60)}`;
    await call('memory_store', { title: 'airships', content });
    const found = async (args: object) => {
      const answer = await json('memory_recall', {
        context: 'where does the zeppelin land?',
        limit: 1,
        ...args,
      });
      return (answer['memories'] as Row[])[0]!;
    };
    const asJson = await found({});
    assert.deepEqual([asJson['content'], asJson['passage']], [content, undefined], 'JSON has the whole text');
    const passage = await found({ content: 'passage' });
    assert.equal('content' in passage, false, 'a passage is not taken for the whole text');
    assert.match(
      String(passage['passage']),
      /^…Nothing .*The zeppelin lands at the old airfield on Fridays\. .*…\[\+\d+\]$/,
    );
    const full = await found({ content: 'full' });
    assert.deepEqual([full['content'], full['passage']], [content, undefined]);
    const none = await found({ content: 'none' });
    assert.deepEqual(['content' in none, 'passage' in none], [false, false]);
    const compact = async (args: object) =>
      textOf(await call('memory_recall', { context: 'where does the zeppelin land?', limit: 1, ...args }));
    assert.match(
      await compact({}),
      /\|…Nothing .*The zeppelin lands at the old airfield on Fridays\. .*…\[\+\d+\]\n$/,
    );
    assert.match(await compact({ content: 'full' }), /\|content\]:\n.*Nothing about boats.*zeppelin/);
    assert.match(
      await compact({}),
      /\|cut:\[\+n\] at the end of a text counts the characters left out, and memory_get reads them; the others are whole\n/,
    );
    assert.doesNotMatch(await compact({ content: 'full' }), /cut:/);
    assert.match(await compact({ content: 'none' }), /\|agent_id\]:\n/);
    assert.equal((await call('memory_recall', { context: 'x', content: 'all' })).error?.code, -32602);
  });

  it('of a search has a score and the passage beside each title', async () => {
    const code = 'function berth(ship) {\n  return ship.dock || null;\n}';
    await call('memory_store', { title: 'berthing', content: code, namespace: 'harbour' });
    const text = textOf(await call('memory_search', { query: 'berth dock', namespace: 'harbour' }));
    const [, head, row, second, third, end] = text.split('\n');
    assert.match(head!, /\|score\|tags\|agent_id\|passage\]:$/);
    assert.match(row!, /\|harbour\|5\|1\|\|[^|]+\|function berth\(ship\) \{$/);
    assert.deepEqual([second, third, end], ['    return ship.dock || null;', '  }', '']);
    const found = async (args: object) =>
      (
        (await json('memory_search', { query: 'berth', namespace: 'harbour', ...args }))['results'] as Row[]
      )[0]!;
    const plain = await found({});
    assert.deepEqual([plain['content'], plain['score']], [code, undefined]);
    const none = await found({ content: 'none' });
    assert.deepEqual(['content' in none, none['score']], [false, 1]);
  });

  it('says in every format that no memory surely answers, and marks what is near', async () => {
    const asked = { context: 'what does the ferry captain of Esbjerg earn in December?' };
    const weak = await json('memory_recall', asked);
    assert.deepEqual(
      [weak['count'], (weak['memories'] as Row[]).map((row) => row['weak'])],
      [2, [true, true]],
    );
    for (const format of ['toon', 'toon_compact']) {
      const text = textOf(await call('memory_recall', { ...asked, format }));
      assert.match(text, /^count:2\|mode:keyword\|note:no memory surely answers this; the rows are weak/);
    }
  });

  it('says in every format that no memory answers', async () => {
    const asked = {
      context: 'what does the ferry captain of Esbjerg earn in December?',
      min_score: 0.25,
    };
    const note = /no memory answers this; \d+ scored below [\d.]+, and min_score 0 returns them/;
    const empty = await json('memory_recall', asked);
    assert.deepEqual([empty['count'], empty['memories']], [0, []]);
    assert.match(String(empty['note']), note);
    for (const format of ['toon', 'toon_compact']) {
      const text = textOf(await call('memory_recall', { ...asked, format }));
      assert.match(text, /^count:0\|mode:keyword\|note:no memory answers this; .*\nmemories\[[^\n]*\]:\n$/);
      assert.match(text, note);
    }
    const all = await json('memory_recall', { ...asked, min_score: 0 });
    assert.deepEqual([all['count'], all['note']], [(empty['meta'] as Row)['below_min_score'], undefined]);
    for (const wrong of [-1, 1.5, 'much']) {
      assert.equal((await call('memory_recall', { ...asked, min_score: wrong })).error?.code, -32602);
    }
  });

  it('is in the compact form at least 70 % smaller than the JSON envelope, and 55 % with short texts whole', async (context) => {
    for (let n = 0; n < 10; n += 1) {
      await call('memory_store', {
        title: `Decision ${n}: deploys leave the pipeline on Sundays`,
        content:
          'The team agreed to deploy on Sundays between two and four in the morning, because traffic is lowest then. ' +
          'Hot fixes may leave at any time when two people have read them. The window is reviewed each quarter.',
        namespace: 'team/platform',
        tags: ['deploy', 'decision'],
      });
    }
    const asked = { context: 'when may we deploy?', namespace: 'team/platform', limit: 10 };
    const envelope = textOf(await call('memory_recall', { ...asked, format: 'json', content: 'full' }));
    const saved = async (args: object) => {
      const compact = textOf(await call('memory_recall', { ...asked, ...args }));
      const share = 1 - Buffer.byteLength(compact) / Buffer.byteLength(envelope);
      context.diagnostic(`${(share * 100).toFixed(1)} % smaller`);
      return share;
    };
    assert.ok((await saved({ content: 'none' })) >= 0.7);
    assert.ok((await saved({})) >= 0.55);
  });

  it('marks a recall as consumed by the memory that names it', async () => {
    const recalled = await json('memory_recall', { context: 'ferry' });
    const recallId = recalled['recall_id'];
    const before = await json('memory_recall_observations', { recall_id: recallId });
    assert.equal(before['count'], recalled['count']);
    const rows = before['observations'] as Row[];
    assert.deepEqual(
      rows.map(({ memory_id, rank, score, consumed, retriever }) => [
        memory_id,
        rank,
        score,
        consumed,
        retriever,
      ]),
      (recalled['memories'] as Row[]).map(({ id, score }, index) => [id, index + 1, score, false, 'keyword']),
    );
    const stored = JSON.parse(
      textOf(await call('memory_store', { title: 'summary', content: 'of ferries', recall_id: recallId })),
    ) as Row;
    const after = await json('memory_recall_observations', { recall_id: recallId, consumed: true });
    assert.equal(after['count'], recalled['count']);
    for (const row of after['observations'] as Row[]) {
      assert.equal(row['consumed_by_memory_id'], stored['id']);
      assert.ok(typeof row['consumed_at'] === 'string');
    }
    await call('memory_store', { title: 'later', content: 'of ferries', recall_id: recallId });
    const again = await json('memory_recall_observations', { recall_id: recallId, consumed: true });
    assert.deepEqual(again, after, 'the first memory stays');
    const open = await json('memory_recall_observations', { recall_id: recallId, consumed: false });
    assert.equal(open['count'], 0);
    const unknown = await call('memory_store', {
      title: 'unknown recall',
      content: 'x',
      recall_id: '00000000-0000-4000-8000-000000000000',
    });
    assert.ok(unknown.result !== undefined, 'a recall that nobody knows changes nothing');
    assert.equal(
      (await call('memory_store', { title: 'z', content: 'x', recall_id: 'x' })).error?.code,
      -32602,
    );
  });
});
