import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

const alice = { 'x-agent-id': 'ai:alice' };
const bob = { 'x-agent-id': 'ai:bob' };
const CITATION = { uri: 'doc:manual', accessed_at: '2026-01-01T00:00:00Z' };

type Row = Record<string, unknown>;
type Meta = {
  candidate_counts: object;
  confidence_filtered_out?: number;
  had_filtered_candidates?: boolean;
} & Row;

let node: HttpNode;
const ids = new Map<string, string>();

before(async () => {
  node = await openHttpNode({
    recallScopeNamespaces: ['team/alpha', 'ignored'],
    recallScopeSince: '24h',
    recallScopeTier: 'long',
    recallScopeLimit: 2,
  });
  const rows: Row[] = [
    { title: 'sure', content: 'ferry times', confidence: 0.95, kind: 'decision', tier: 'long' },
    {
      title: 'likely',
      content: 'ferry times',
      confidence: 0.7,
      citations: [CITATION],
      source_uri: 'doc:manual/1',
    },
    { title: 'vague', content: 'ferry times', confidence: 0.69, source_uri: 'file:notes' },
    { title: 'private', content: 'ferry times', confidence: 0.1, scope: 'private' },
    { title: 'team', content: 'ferry times', namespace: 'team/alpha', scope: 'team', tier: 'long' },
    { title: 'team two', content: 'ferry times', namespace: 'team/alpha', tier: 'long' },
    { title: 'team three', content: 'ferry times', namespace: 'team/alpha', tier: 'long' },
    { title: 'team mid', content: 'ferry times', namespace: 'team/alpha' },
  ];
  for (const row of rows) {
    // Short rows stay short; a mid one that is recalled often enough would become long meanwhile.
    const body = { tier: 'short', ...row };
    const { json } = await node.send('POST', '/api/v1/memories', body, alice);
    ids.set(String(row['title']), String(json!['id']));
  }
});
after(() => node.close());

async function recall(fields: Record<string, string>, headers: Record<string, string> = bob) {
  const answer = await node.send('GET', `/api/v1/recall?${new URLSearchParams(fields)}`, undefined, headers);
  assert.equal(answer.status, 200, answer.text);
  const body = answer.json!;
  return { body, rows: body['memories'] as Row[], meta: body['meta'] as Meta };
}

const titles = (rows: readonly Row[]) => rows.map((row) => row['title']).sort();
const found = async (fields: Record<string, string>, headers?: Record<string, string>) =>
  titles((await recall({ q: 'ferry', namespace: 'global', ...fields }, headers)).rows);

describe('GET /recall', () => {
  it('takes context by its three names, and refuses two of them at once', async () => {
    for (const name of ['context', 'query', 'q']) {
      assert.equal((await recall({ [name]: 'ferry', limit: '1' })).rows.length, 1, name);
    }
    const twice = await node.send('GET', '/api/v1/recall?q=a&context=b');
    assert.equal(twice.status, 400);
    const none = await node.send('GET', '/api/v1/recall?q=%20');
    assert.deepEqual([none.status, none.json!['error']], [400, 'context is required']);
  });

  it('filters by kind, citations, source and confidence', async () => {
    assert.deepEqual(await found({}), ['likely', 'sure', 'vague']);
    assert.deepEqual(await found({ kinds: 'decision,claim' }), ['sure']);
    assert.deepEqual(await found({ kinds: 'all' }), ['likely', 'sure', 'vague']);
    const unknown = await node.send('GET', '/api/v1/recall?context=ferry&kinds=rumour');
    assert.deepEqual([unknown.status, unknown.json!['code']], [400, 'VALIDATION_FAILED']);
    assert.deepEqual(await found({ has_citations: 'true' }), ['likely']);
    assert.deepEqual(await found({ has_citations: 'false' }), ['likely', 'sure', 'vague']);
    assert.deepEqual(await found({ source_uri_prefix: 'doc:' }), ['likely']);
    assert.deepEqual(await found({ source_uri_prefix: 'doc:manual/1x' }), []);
    assert.deepEqual(await found({ confidence_tier: 'confirmed' }), ['sure']);
    assert.deepEqual(await found({ confidence_tier: 'likely' }), ['likely']);
    assert.deepEqual(await found({ confidence_tier: 'ambiguous' }), ['vague']);
  });

  it('counts what the confidence filter removed, but no row that the caller may not see', async () => {
    const ask = async (tier: string, headers: Record<string, string>) => {
      const { meta } = await recall({ q: 'ferry', namespace: 'global', confidence_tier: tier }, headers);
      return [meta.confidence_filtered_out, meta.had_filtered_candidates];
    };
    assert.deepEqual(await ask('confirmed', bob), [2, true]);
    assert.deepEqual(await ask('confirmed', alice), [3, true], 'the owner sees the private row');
    const { meta } = await recall({ q: 'zebra', confidence_tier: 'likely' });
    assert.deepEqual([meta.confidence_filtered_out, meta.had_filtered_candidates], [0, false]);
    assert.ok(!('confidence_filtered_out' in (await recall({ q: 'ferry' })).meta));
  });

  it('judges shared scopes from the position that as_agent names', async () => {
    const inTeam = { namespace: 'team/alpha' };
    assert.deepEqual(await found(inTeam), ['team mid', 'team three', 'team two']);
    assert.deepEqual(await found({ ...inTeam, as_agent: 'team/beta' }), [
      'team',
      'team mid',
      'team three',
      'team two',
    ]);
    assert.deepEqual(await found({ ...inTeam, as_agent: 'other' }), ['team mid', 'team three', 'team two']);
  });

  it('fills in the configured scope with session_default, only where nothing is given', async () => {
    const own = async (fields: Record<string, string>) =>
      titles((await recall({ q: 'ferry', ...fields })).rows);
    assert.equal((await own({ session_default: 'true' })).length, 2);
    assert.deepEqual(
      await own({ session_default: 'true', limit: '9' }),
      ['sure', 'team three', 'team two'].slice(1),
    );
    assert.deepEqual(await own({ session_default: 'true', namespace: 'global', limit: '9' }), ['sure']);
    assert.equal((await own({ session_default: 'false' })).length, 6);
    assert.deepEqual(await own({ session_default: 'true', until: '2020-01-01T00:00:00Z' }), []);
  });

  it('shows provenance on request, by field or header, and never another ranking', async () => {
    const plain = await recall({ q: 'ferry' });
    assert.ok(!('confidence_tier' in plain.rows[0]!));
    for (const answer of [
      await recall({ q: 'ferry', verbose_provenance: 'true' }),
      await recall({ q: 'ferry' }, { ...bob, 'accept-provenance': 'verbose' }),
    ]) {
      assert.deepEqual(
        answer.rows.map(({ id, score }) => [id, score]),
        plain.rows.map(({ id, score }) => [id, score]),
      );
      const likely = answer.rows.find(({ title }) => title === 'likely')!;
      assert.equal(likely['confidence_tier'], 'likely');
      assert.equal(likely['content_attestation'], 'claimed');
      assert.equal(likely['found_by'], 'words');
      assert.match(String(likely['freshness_state']), /fresh|warm/);
      assert.ok(!('latest_link_attest_level' in likely));
    }
    const declined = await recall(
      { q: 'ferry', verbose_provenance: 'false' },
      { ...bob, 'accept-provenance': 'verbose' },
    );
    assert.ok(!('confidence_tier' in declined.rows[0]!), 'the field goes before the header');
  });

  it('says what ran, what it counted and how the budget was spent', async () => {
    const { body, rows, meta } = await recall({ q: 'ferry', budget_tokens: '5' });
    assert.equal(body['mode'], 'keyword');
    assert.match(String(body['recall_id']), /^[0-9a-f-]{36}$/);
    assert.equal(meta['recall_mode'], 'keyword_only');
    assert.equal(meta['reranker_used'], 'none');
    assert.deepEqual(meta.candidate_counts, { fts: 6, hnsw: 0 });
    assert.equal(body['tokens_used'], meta['budget_tokens_used']);
    assert.equal(rows.length + Number(meta['memories_dropped']), 6);
    assert.equal(meta['budget_overflow'], false);
    for (const { score } of rows) assert.equal(Number(score), Number(Number(score).toFixed(3)));
    const none = await recall({ q: 'ferry', budget_tokens: '0' });
    assert.deepEqual([none.body['count'], none.rows], [0, []]);
    const one = await recall({ q: 'ferry', budget_tokens: '1' });
    assert.deepEqual([one.body['count'], one.meta['budget_overflow']], [1, true]);
  });

  it('moves what a session has seen before its equals, for the same caller alone', async () => {
    const add = async (title: string, fields: Row = {}) => {
      const body = { title, content: 'nothing', namespace: 'session', ...fields };
      return String((await node.send('POST', '/api/v1/memories', body, alice)).json!['id']);
    };
    const older = await add('older', { content: 'harbour', kind: 'claim' });
    // Apart from one another, because neighbours lend each other weight.
    for (let n = 0; n < 5; n += 1) await add(`between ${n}`);
    const newer = await add('newer', { content: 'harbour' });
    const best = async (fields: Record<string, string>, headers = bob) =>
      (await recall({ q: 'harbour', namespace: 'session', ...fields }, headers)).rows[0]!['id'];
    assert.equal(await best({ session_id: 's', kinds: 'claim' }), older, 'now the session has seen it');
    assert.equal(await best({}), newer);
    assert.equal(await best({ session_id: 's' }), older);
    assert.equal(await best({ session_id: 'another' }), newer);
    assert.equal(await best({ session_id: 's' }, { 'x-agent-id': 'ai:carol' }), newer);
  });

  it('refuses what is malformed, in GET and POST alike', async () => {
    const wrong: Row[] = [
      { confidence_tier: 'high' },
      { confidence_tier: 'sure' },
      { has_citations: 'maybe' },
      { source_uri_prefix: '' },
      { session_id: '  ' },
      { session_id: 'x'.repeat(129) },
      { as_agent: 'a//b' },
      { budget_tokens: -1 },
      { min_score: -0.1 },
      { min_score: 1.1 },
      { min_score: 'high' },
      { format: 'xml' },
      { since: 'yesterday' },
      { include_archived: 'perhaps' },
      { context_tokens: ['a'] },
      { accept_provenance: 'verbose' },
    ];
    for (const fields of wrong) {
      const query = new URLSearchParams(fields as Record<string, string>);
      const got = await node.send('GET', `/api/v1/recall?q=x&${query}`);
      assert.equal(got.status, 400, `${JSON.stringify(fields)} ${got.text}`);
      const posted = await node.send('POST', '/api/v1/recall', { context: 'x', ...fields });
      assert.equal(posted.status, 400, `${JSON.stringify(fields)} ${posted.text}`);
    }
    const lists = { context: 'ferry', kinds: ['decision'], tags: [], has_citations: false, budget_tokens: 1 };
    assert.equal((await node.send('POST', '/api/v1/recall', lists)).status, 200);
  });
});

describe('formats over HTTP', () => {
  it('are json by default, and toon as plain text for recall, search and list', async () => {
    for (const path of ['recall?q=ferry', 'search?q=ferry', 'memories?limit=5']) {
      const json = await node.send('GET', `/api/v1/${path}`);
      assert.match(json.headers.get('content-type')!, /json/);
      for (const format of ['toon', 'toon_compact']) {
        const answer = await node.send('GET', `/api/v1/${path}&format=${format}`);
        assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
        assert.match(answer.text, /^count:\d+.*\nmemories\[id\|title\|tier/);
      }
      const unknown = await node.send('GET', `/api/v1/${path}&format=yaml`);
      assert.deepEqual([unknown.status, unknown.json!['code']], [400, 'VALIDATION_FAILED']);
    }
  });

  it('search by source alone names the source, without both it is refused', async () => {
    const { json } = await node.send('GET', '/api/v1/search?source_uri=doc:manual/1');
    assert.deepEqual([json!['count'], json!['source_uri'], 'query' in json!], [1, 'doc:manual/1', false]);
    const both = await node.send('GET', '/api/v1/search?q=ferry&source_uri=doc:manual/1');
    assert.deepEqual([both.json!['count'], both.json!['query']], [1, 'ferry']);
    const none = await node.send('GET', '/api/v1/search');
    assert.deepEqual([none.status, none.json!['error']], [400, 'query is required']);
  });
});
