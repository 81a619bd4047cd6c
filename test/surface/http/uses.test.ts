import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import { memoryLink } from '../../../node/operations/graph/memory-link.js';
import type { Operation } from '../../../node/pipeline/operation.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { RECALL_MIN_SCORE } from '../../../protocol/ranking/likelihood.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const ALICE = { 'x-agent-id': 'ai:alice' };
const DAY_MS = 86_400_000;

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
});
after(() => node.close());

const send = async (method: string, path: string, body?: unknown) => {
  const { status, text, json } = await node.send(method, `/api/v1${path}`, body, ALICE);
  assert.ok(status < 300, text);
  return json!;
};
/** Only MCP has the field that names a recall. */
async function overMcp(operation: Operation, input: object, agentId: string): Promise<void> {
  const viewer = { all: false, agentId, asNamespace: null };
  const caller = { agentId, claimed: 'explicit', viewer, admin: false, local: true } as const;
  const call = { surface: 'mcp', caller, input, unknownFields: 'refuse' } as never;
  const answer = await runOperation(operation, call, node.services);
  assert.ok(answer.ok, JSON.stringify(answer));
}
const lives = async () => {
  await node.services.touches.flush();
  const { memories } = await send('GET', '/memories?limit=1000');
  return (memories as Record<string, unknown>[])
    .map(({ id, tier, expires_at, access_count, last_accessed_at }) => [
      ...[id, tier, expires_at, access_count, last_accessed_at ?? null],
    ])
    .sort();
};

const SUBJECTS =
  `harbour ferry crane pier lighthouse anchor tide rope buoy sail keel mast deck hull rudder galley cabin
  bosun compass chart beacon wharf dock barge tug cargo hold winch davit capstan`.split(/\s+/);
const UNRELATED = [
  'best recipe for a chocolate cake',
  'who won the football final last year',
  'how tall is the Eiffel tower',
  'capital of Mongolia',
  'symptoms of the common flu',
  'cheap flights to Lisbon',
  'how to tie a necktie',
  'population of Brazil',
  'lyrics of a lullaby',
  'chess opening for beginners',
  'when was Mozart born',
  'weather on Mars',
];

describe('only use counts as use', () => {
  it('12 unrelated recalls over 30 notes move no tier, expiry or access count', async () => {
    assert.deepEqual([SUBJECTS.length, UNRELATED.length], [30, 12]);
    for (const subject of SUBJECTS) {
      const content = `What everybody on board has to know about the ${subject}.`;
      await send('POST', '/memories', { title: `The ${subject}`, content });
    }
    const before = await lives();
    for (const query of UNRELATED) {
      await send('GET', `/recall?limit=50&q=${encodeURIComponent(query)}`);
    }
    assert.deepEqual(await lives(), before);
  });

  it('a recall counts for its first row, and not for the others that it shows, however often', async () => {
    for (let n = 0; n < 6; n += 1) {
      await send('POST', '/memories', { title: `quota rule ${n}`, content: 'disk quota of the mail server' });
    }
    const { memories } = await send('GET', '/recall?q=mail+disk+quota&limit=10');
    for (let again = 1; again < 5; again += 1) await send('GET', '/recall?q=mail+disk+quota&limit=10');
    await node.services.touches.flush();
    const counts = [];
    for (const { id } of memories as { id: string }[]) {
      const { memories: listed } = await send('GET', '/memories?limit=1000');
      const row = (listed as { id: string; access_count: number }[]).find((one) => one.id === id);
      counts.push(row!.access_count);
    }
    assert.deepEqual(counts.slice(0, 6), [5, 0, 0, 0, 0, 0]);
  });

  it('a recall that a later store names counts once for all its rows that passed', async () => {
    const namespace = 'named';
    for (let n = 0; n < 4; n += 1) {
      const content = n < 3 ? 'the tower crane lifts the mast' : 'a mast stands there';
      await send('POST', '/memories', { title: `crane ${n}`, content, namespace });
    }
    const { memories, recall_id } = await send(
      'GET',
      '/recall?q=tower+crane+mast&namespace=named&min_score=0',
    );
    const rows = memories as { id: string; score: number }[];
    const passed = rows.filter(({ score }) => score >= RECALL_MIN_SCORE).length;
    assert.ok(passed >= 3 && passed <= rows.length);
    const counts = async () => {
      await node.services.touches.flush();
      const { memories: listed } = await send('GET', '/memories?limit=1000&namespace=named');
      const all = listed as { id: string; access_count: number }[];
      return rows.map(({ id }) => all.find((one) => one.id === id)!.access_count);
    };
    const once = (used: number) => rows.map((_, at) => (at < used ? 1 : 0));
    assert.deepEqual(await counts(), once(1));
    await overMcp(memoryStore, { title: 'by another', content: 'x', recall_id }, 'ai:bob');
    assert.deepEqual(await counts(), once(1), 'it is the recall of somebody else');
    for (const title of ['first', 'second']) {
      await overMcp(memoryStore, { title, content: 'x', recall_id }, 'ai:alice');
      assert.deepEqual(await counts(), once(passed));
    }
  });

  it('a link that names a recall before that is recorded counts too', async () => {
    const { memories, recall_id } = await send('GET', '/recall?q=tower+crane+mast&namespace=named');
    const [first, second] = memories as { id: string; access_count: number }[];
    const link = { source_id: first!.id, target_id: second!.id, relation: 'related_to', recall_id };
    await overMcp(memoryLink, link, 'ai:alice');
    await node.services.touches.flush();
    const { memories: listed } = await send('GET', '/memories?limit=1000&namespace=named');
    const after = (listed as { id: string; access_count: number }[]).find(({ id }) => id === second!.id);
    assert.equal(after!.access_count, second!.access_count + 1);
  });

  it('reading by id counts, and moves the expiry to 90 days from now; listing and searching do not', async () => {
    const soon = new Date(Date.now() + DAY_MS).toISOString();
    const { id } = await send('POST', '/memories', { title: 'visa', content: 'renew it', expires_at: soon });
    await send('GET', '/search?q=visa');
    await send('GET', '/memories?limit=1000');
    const find = (all: unknown[][]) => all.find(([known]) => known === id)!;
    assert.deepEqual(find(await lives()).slice(2, 4), [soon, 0]);
    await send('GET', `/memories/${id}`);
    const [, tier, expires, count] = find(await lives());
    assert.deepEqual([tier, count], ['mid', 1]);
    const daysLeft = (Date.parse(String(expires)) - Date.now()) / DAY_MS;
    assert.ok(daysLeft > 89.9 && daysLeft <= 90, String(daysLeft));
  });
});

describe('the expiry of a stored memory', () => {
  it('is in the answer: 90 days for mid, six hours for short, none for long', async () => {
    for (const [tier, days] of [
      ['mid', 90],
      ['short', 0.25],
    ] as const) {
      const { expires_at } = await send('POST', '/memories', { title: `a ${tier} note`, content: 'x', tier });
      const left = (Date.parse(String(expires_at)) - Date.now()) / DAY_MS;
      assert.ok(left > days - 0.01 && left <= days, `${tier} ${left}`);
    }
    const long = await send('POST', '/memories', { title: 'a long note', content: 'x', tier: 'long' });
    assert.equal('expires_at' in long, false);
    const bulk = await send('POST', '/memories/bulk', [{ title: 'a row', content: 'x' }]);
    const [row] = bulk['results'] as Record<string, unknown>[];
    assert.equal(typeof row!['expires_at'], 'string');
  });

  it('can have passed: include_expired lists such a row until it is removed', async () => {
    const { id } = await send('POST', '/memories', { title: 'gone', content: 'x', namespace: 'old' });
    await send('PUT', `/memories/${id}`, { expires_at: new Date(Date.now() + 300).toISOString() });
    await pause(400);
    const listed = async (query: string) => {
      const { memories } = await send('GET', `/memories?namespace=old${query}`);
      return (memories as { id: string }[]).map((row) => row.id);
    };
    assert.deepEqual(await listed(''), []);
    assert.deepEqual(await listed('&include_expired=false'), []);
    assert.deepEqual(await listed('&include_expired=true'), [id]);
  });
});

describe('fields that grew', () => {
  it('citations take http and https, and a source uri does not', async () => {
    const cited = (uri: string) => ({
      title: `cites ${uri}`,
      content: 'x',
      citations: [{ uri, accessed_at: '2026-01-01T00:00:00Z' }],
    });
    for (const uri of ['https://example.org/a?b=c', 'http://example.org', 'doc:1', 'file:/x', 'uri:y']) {
      const { id } = await send('POST', '/memories', cited(uri));
      const { memory } = await send('GET', `/memories/${id}`);
      assert.equal((memory as { citations: { uri: string }[] }).citations[0]!.uri, uri);
    }
    for (const uri of ['ftp://example.org', 'example.org', 'javascript:x', ' https://example.org']) {
      const refused = await node.send('POST', '/api/v1/memories', cited(uri), ALICE);
      assert.deepEqual([refused.status, refused.json?.['code']], [400, 'VALIDATION_FAILED'], uri);
    }
    const body = { title: 'from the web', content: 'x', source_uri: 'https://example.org' };
    assert.equal((await node.send('POST', '/api/v1/memories', body, ALICE)).status, 400);
  });

  it('a nameless caller who changes a row is told to name an agent', async () => {
    const nameless = await node.send('POST', '/api/v1/memories', { title: 'no name', content: 'x' });
    const { id } = await send('POST', '/memories', { title: 'a name', content: 'x' });
    for (const [row, why] of [
      [String(nameless.json?.['id']), /X-Agent-Id: it was stored without one, so only the operator/],
      [String(id), /X-Agent-Id: only its owner can change it/],
    ] as const) {
      for (const [method, body] of [
        ['PUT', { content: 'y' }],
        ['DELETE', undefined],
      ] as const) {
        const refused = await node.send(method, `/api/v1/memories/${row}`, body);
        assert.deepEqual([refused.status, refused.json?.['code']], [403, 'FORBIDDEN']);
        assert.match(String(refused.json?.['error']), why);
      }
    }
    const other = await node.send(
      'PUT',
      `/api/v1/memories/${id}`,
      { content: 'y' },
      { 'x-agent-id': 'ai:bob' },
    );
    assert.equal(other.json?.['error'], 'caller does not own this memory');
  });
});
