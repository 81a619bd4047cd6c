import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import type { Services } from '../../../node/pipeline/call.js';
import { systemClock } from '../../../node/seams.js';
import { type HttpNode, type NodeOptions, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;
const DAY_MS = 86_400_000;
const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };

const opened: HttpNode[] = [];
after(() => Promise.all(opened.map((node) => node.close())));

async function openNode(settings: SettingFlags, options: NodeOptions): Promise<HttpNode> {
  const node = await openHttpNode(settings, options);
  opened.push(node);
  return node;
}

/** A node whose calls come at a moment that the test moves. */
async function nodeLater(settings: SettingFlags) {
  const moved = { days: 0 };
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + moved.days * DAY_MS };
  const wrap = (services: Services) => ({ ...services, clock });
  const node = await openNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true, ...settings }, { wrap });
  const call = async (method: string, path: string, body?: Json, headers: Record<string, string> = ALICE) => {
    const answer = await node.send(method, `/api/v1${path}`, body, headers);
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
    return answer.json!;
  };
  const store = async (title: string, more: Json = {}, headers = ALICE) =>
    String(
      (await call('POST', '/memories', { title, content: `${title} ferry`, tier: 'long', ...more }, headers))[
        'id'
      ],
    );
  const get = async (id: string, headers = ALICE) =>
    (await call('GET', `/memories/${id}`, undefined, headers))['memory'] as Json;
  const recall = (more: Json = {}, headers = ALICE) =>
    call('POST', '/recall', { context: 'ferry', min_score: 0, ...more }, headers);
  const titles = async (more: Json) =>
    ((await recall(more))['memories'] as Json[]).map((row) => row['title']).sort();
  const report = async (headers = ALICE, body: Json = {}) =>
    (await call('POST', '/memory_calibrate_confidence', body, headers))['report'] as Json;
  return { ...node, moved, call, store, get, recall, titles, report };
}

const citation = { uri: 'https://a.example/x', accessed_at: '2026-01-01T00:00:00Z' };

describe('confidence that the node derives', () => {
  it('is stored where none was stated, with its signals', async () => {
    const node = await nodeLater({ autoConfidence: true });
    const plain = await node.get(await node.store('plain'));
    assert.deepEqual([plain['confidence'], plain['confidence_source']], [0.5, 'auto_derived']);
    assert.deepEqual(plain['confidence_signals'], {
      ...{ source_age_days: 0, atom_derivation: false, prior_corroboration_count: 0 },
      ...{ freshness_factor: 1, baseline_per_source: 0.5 },
    });
    const cited = await node.get(await node.store('cited', { citations: [citation] }));
    assert.equal(cited['confidence'], 0.5151);
    const stated = await node.get(await node.store('stated', { confidence: 1 }));
    assert.deepEqual(
      [stated['confidence'], stated['confidence_source'], stated['confidence_signals']],
      [1, 'caller_provided', undefined],
    );
  });

  it('gives way to one that is stated later, and does not lower one that is', async () => {
    const node = await nodeLater({ autoConfidence: true });
    const id = await node.store('one');
    await node.call('PUT', `/memories/${id}`, { confidence: 0.9 });
    const changed = await node.get(id);
    assert.deepEqual(
      [changed['confidence'], changed['confidence_source'], changed['confidence_signals']],
      [0.9, 'caller_provided', undefined],
    );
    await node.store('one', { on_conflict: 'merge', content: 'new ferry' });
    const merged = await node.get(id);
    assert.deepEqual(
      [merged['content'], merged['confidence'], merged['confidence_source']],
      ['new ferry', 0.9, 'caller_provided'],
    );
    const other = await node.store('two');
    await node.store('two', { on_conflict: 'merge', citations: [citation] });
    const surer = await node.get(other);
    assert.deepEqual([surer['confidence'], surer['confidence_source']], [0.5151, 'auto_derived']);
    assert.equal((surer['confidence_signals'] as Json)['prior_corroboration_count'], 1);
  });

  it('is off unless configured', async () => {
    const node = await nodeLater({});
    const plain = await node.get(await node.store('plain'));
    assert.deepEqual([plain['confidence'], plain['confidence_source']], [1, 'caller_provided']);
  });
});

describe('confidence that decays', () => {
  it('shows in every answer and is stored nowhere', async () => {
    const node = await nodeLater({ confidenceDecay: true });
    const id = await node.store('old', { confidence: 0.8 });
    const fresh = await node.get(id);
    assert.deepEqual(
      [fresh['confidence'], fresh['confidence_source'], fresh['confidence_decayed_at']],
      [0.8, 'caller_provided', undefined],
    );
    const before = await node.counts();
    node.moved.days = 30;
    const got = await node.get(id);
    assert.deepEqual([got['confidence'], got['confidence_source']], [0.4, 'decayed']);
    assert.match(String(got['confidence_decayed_at']), /^\d{4}-/);
    const listed = (await node.call('GET', '/memories'))['memories'] as Json[];
    const searched = (await node.call('GET', '/search?q=ferry'))['results'] as Json[];
    const recalled = (await node.recall({ verbose_provenance: true }))['memories'] as Json[];
    for (const [row] of [listed, searched, recalled]) assert.equal(row!['confidence'], 0.4);
    assert.equal(recalled[0]!['confidence_tier'], 'ambiguous');
    assert.deepEqual(await node.counts(), before);
    node.moved.days = 0;
    assert.equal((await node.get(id))['confidence'], 0.8);
  });

  it('begins again with each edit, and follows the half-life of the policy', async () => {
    const node = await nodeLater({ confidenceDecay: true });
    const slow = await node.store('slow', { namespace: 'team/slow' });
    const other = await node.store('other', { namespace: 'team' });
    const governance = { write: 'any', confidence_decay_half_life_days: 60 };
    await node.call('POST', '/namespaces/team%2Fslow/standard', { governance }, { 'x-agent-id': 'ai:admin' });
    node.moved.days = 60;
    assert.equal((await node.get(slow))['confidence'], 0.5);
    assert.equal((await node.get(other))['confidence'], 0.25);
  });

  it('filters by what is left', async () => {
    const node = await nodeLater({ confidenceDecay: true });
    await node.store('sure', { confidence: 1 });
    await node.store('half sure', { confidence: 0.75 });
    assert.deepEqual(await node.titles({ confidence_tier: 'confirmed' }), ['sure']);
    assert.deepEqual(await node.titles({ confidence_tier: 'likely' }), ['half sure']);
    node.moved.days = 10;
    const { meta } = await node.recall({ confidence_tier: 'likely' });
    assert.deepEqual(await node.titles({ confidence_tier: 'confirmed' }), []);
    assert.deepEqual(await node.titles({ confidence_tier: 'likely' }), ['sure']);
    assert.deepEqual(await node.titles({ confidence_tier: 'ambiguous' }), ['half sure']);
    assert.deepEqual(
      [(meta as Json)['confidence_filtered_out'], (meta as Json)['had_filtered_candidates']],
      [1, true],
    );
    assert.equal(
      ((await node.recall({ confidence_tier: 'likely', limit: 1 }))['memories'] as Json[]).length,
      1,
    );
  });

  it('does not change what is ranked, nor an export', async () => {
    const node = await nodeLater({ confidenceDecay: true });
    for (const title of ['one', 'two', 'three']) await node.store(title, { confidence: 0.9 });
    const order = async () =>
      ((await node.recall())['memories'] as Json[]).map(({ title, score }) => [title, score]);
    const before = await order();
    node.moved.days = 3;
    assert.deepEqual(
      (await order()).map(([title]) => title),
      before.map(([title]) => title),
    );
    const { memories } = await node.call('GET', '/export', undefined, { 'x-agent-id': 'ai:admin' });
    assert.deepEqual(
      (memories as Json[]).map(({ confidence, confidence_source }) => [confidence, confidence_source]),
      Array.from({ length: 3 }, () => [0.9, 'caller_provided']),
    );
  });
});

describe('observed confidence', () => {
  it('is reported by namespace and source, as far as the caller sees the memories', async () => {
    const node = await nodeLater({ confidenceShadow: true });
    await node.store('open', { namespace: 'a', confidence: 0.9 });
    await node.store('own', { namespace: 'a', scope: 'private', confidence: 0.2 });
    const gone = await node.store('gone', { namespace: 'b' });
    const [before, writes] = [await node.recall(), await node.counts()];
    await node.recall({}, BOB);
    const { window_days, total_observations, baselines } = await node.report();
    assert.deepEqual([window_days, total_observations], [30, 3]);
    assert.deepEqual(baselines, [
      {
        ...{ namespace: 'a', source: 'api', count: 2, median: 0.5, mean: 0.5 },
        ...{ buckets: [0, 0, 0, 0, 0, 2, 0, 0, 0, 0], stated_median: 0.55, stated_mean: 0.55 },
      },
      {
        ...{ namespace: 'b', source: 'api', count: 1, median: 0.5, mean: 0.5 },
        ...{ buckets: [0, 0, 0, 0, 0, 1, 0, 0, 0, 0], stated_median: 1, stated_mean: 1 },
      },
    ]);
    // Bob recalled two memories; the private one is neither his nor the admin's to see.
    assert.equal((await node.report(BOB))['total_observations'], 2);
    assert.equal((await node.report({ 'x-agent-id': 'ai:admin' }))['total_observations'], 4);
    assert.equal((await node.report({ 'x-agent-id': 'ai:carol' }))['total_observations'], 0);
    await node.call('DELETE', `/memories/${gone}`);
    assert.equal((await node.report())['total_observations'], 2);
    // It is local: no operation, and the next answer is as the one before.
    assert.equal((await node.counts()).operations, writes.operations + 1);
    const again = (await node.recall())['memories'] as Json[];
    assert.deepEqual(
      again.map(({ title }) => title),
      (before['memories'] as Json[]).map(({ title }) => title).filter((title) => title !== 'gone'),
    );
  });

  it('counts links, and ages, but says what is stored', async () => {
    const node = await nodeLater({ confidenceShadow: true, confidenceDecay: true });
    const [one, two] = [await node.store('one'), await node.store('two', { content: 'elsewhere' })];
    await node.call('POST', '/links', { source_id: one, target_id: two, relation: 'related_to' });
    await node.recall({ limit: 1 });
    const linked = (await node.report())['baselines'] as Json[];
    assert.deepEqual(
      linked.map(({ count, mean, stated_mean }) => [count, mean, stated_mean]),
      [[1, 0.5151, 1]],
    );
    node.moved.days = 30;
    await node.recall({ limit: 1 });
    const [aged] = (await node.report(ALICE, { days: 7 }))['baselines'] as Json[];
    // base = 0.515051 - 0.02 ln 2 = 0.501188; half of it, and half of the baseline.
    assert.deepEqual([aged!['count'], aged!['mean'], aged!['stated_mean']], [1, 0.5006, 1]);
    assert.equal((await node.report(ALICE, { days: 31 }))['total_observations'], 2);
  });

  it('is sampled, and off unless configured', async () => {
    const draws = [0.1, 0.9, 0.49, 0.5];
    const node = await openNode(
      { confidenceShadow: true, confidenceShadowSampleRate: 0.5 },
      { wrap: (services) => ({ ...services, random: { ...services.random, unit: () => draws.shift()! } }) },
    );
    const send = async (path: string, body: Json) =>
      (await node.send('POST', `/api/v1${path}`, body, ALICE)).json!;
    await send('/memories', { title: 'one', content: 'ferry' });
    for (let n = 0; n < 4; n += 1) await send('/recall', { context: 'ferry' });
    const sampled = await send('/memory_calibrate_confidence', {});
    assert.equal((sampled['report'] as Json)['total_observations'], 2);
    assert.equal(sampled['note'], undefined);

    const off = await nodeLater({});
    await off.store('one');
    await off.recall();
    const answer = await off.call('POST', '/memory_calibrate_confidence', {});
    assert.equal((answer['report'] as Json)['total_observations'], 0);
    assert.match(String(answer['note']), /SVC_CONFIDENCE_SHADOW=1/);
  });

  it('is a table on request, and refuses what is no number of days', async () => {
    const node = await nodeLater({ confidenceShadow: true });
    await node.store('one');
    await node.recall();
    const send = (body: Json) => node.send('POST', '/api/v1/memory_calibrate_confidence', body, ALICE);
    const table = await send({ output_format: 'table' });
    assert.match(table.headers.get('content-type') ?? '', /text\/plain/);
    assert.match(
      table.text,
      /^NAMESPACE +SOURCE +COUNT .*\nglobal +api +1 +0\.5 .*\n1 observations in 30 days\n$/,
    );
    for (const days of [0, -1, 1.5, 1e9, 'week']) {
      const { status, json } = await send({ days });
      assert.deepEqual([status, json!['code']], [400, 'VALIDATION_FAILED'], String(days));
    }
    assert.equal((await send({ output_format: 'xml' })).status, 400);
  });
});

describe('the kind of a memory that is stored', () => {
  const admin = { 'x-agent-id': 'ai:admin' };
  const setting = (value: string) => ({ governance: { write: 'any', auto_classify_kind: value } });

  it('follows from its words where the policy of its namespace says so', async () => {
    const node = await nodeLater({});
    await node.call('POST', '/namespaces/notes/standard', setting('regex_only'), admin);
    await node.call('POST', '/namespaces/notes%2Foff/standard', setting('off'), admin);
    const numbers = [1, 2, 3, 4, 5].values();
    const stored = (namespace: string, more: Json = {}) =>
      node.call('POST', '/memories', {
        ...{ title: `title ${numbers.next().value}`, content: 'We decided to use Postgres', namespace },
        ...more,
      });
    const kindOf = async (answer: Json) => (await node.get(String(answer['id'])))['kind'];
    const decision = await stored('notes/deep');
    assert.deepEqual([decision['kind'], await kindOf(decision)], ['decision', 'decision']);
    const plain = await stored('notes', { content: 'The kettle is blue' });
    assert.deepEqual([plain['kind'], await kindOf(plain)], [undefined, 'observation']);
    const given = await stored('notes', { kind: 'claim' });
    assert.deepEqual([given['kind'], await kindOf(given)], [undefined, 'claim']);
    for (const namespace of ['notes/off', 'elsewhere']) {
      const other = await stored(namespace);
      assert.deepEqual([other['kind'], await kindOf(other)], [undefined, 'observation']);
    }
    const { results } = await node.call('POST', '/memories/bulk', [
      { title: 'in bulk', content: 'According to the manual it is safe', namespace: 'notes' },
    ] as unknown as Json);
    assert.equal(await kindOf((results as Json[])[0]!), 'claim');
  });
});
