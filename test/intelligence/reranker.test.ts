import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { SettingFlags } from '../../node/config/load-settings.js';
import { NO_RERANKER } from '../../node/semantics/reranker/no-reranker.js';
import { openReranker, type RerankerSettings } from '../../node/semantics/reranker/open-reranker.js';
import type { Reranker } from '../../node/semantics/reranker/reranker.js';
import { realScheduler, recordingLog } from '../storage/vectors/real-seams.js';
import { type AskingNode, agent, OPERATOR, openAskingNode } from '../support/asking-node.js';
import { startDaemonHere } from '../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../support/daemon-process.js';
import { type ModelMood, ModelServer } from '../support/model-server.js';
import { until } from '../support/wait.js';
import { MovedClock, secret } from './open-test-models.js';

type Row = Record<string, unknown>;

const settingsFor = (server: ModelServer): SettingFlags => ({
  ...{ rerankerEnabled: true, rerankerBaseUrl: server.url, rerankerModel: 'cross', rerankerTimeoutMs: 1500 },
});

const titlesOf = ({ memories }: Row): unknown[] => (memories as Row[]).map(({ title }) => title);
const scoresOf = ({ memories }: Row): number[] => (memories as Row[]).map(({ score }) => Number(score));

/** The titles of a ranking in the order of 0.6 of the score and 0.4 of the relevance. */
function blendedOf(ranking: Row, relevance: (title: unknown) => number): unknown[] {
  const scores = scoresOf(ranking);
  const rows = titlesOf(ranking).map(
    (title, at) => [title, 0.6 * scores[at]! + 0.4 * relevance(title)] as const,
  );
  return rows.sort((left, right) => right[1] - left[1]).map(([title]) => title);
}

describe('a recall with a reranker', () => {
  let server: ModelServer;
  let node: AskingNode;
  before(async () => {
    server = await ModelServer.start('compatible');
  });
  after(() => server.close());
  beforeEach(async () => {
    Object.assign(server, { mood: 'fine', moods: [], scores: null, delayMs: 0 });
    server.asked.length = 0;
    node = await openAskingNode(null, settingsFor(server));
    for (const [title, content] of [
      ['Ferry', 'The ferry to the island leaves at two.'],
      ['Island', 'The island has a ferry, a ferry pier and a lighthouse.'],
      ['Pier', 'The ferry waits at the pier of the island.'],
    ])
      await node.run('memory_store', { title, content, namespace: 'trip' });
  });
  afterEach(() => node.close());

  const recall = (more: Row = {}, by = agent('ai:alice')) =>
    node.run('memory_recall', { context: 'ferry island', namespace: 'trip', min_score: 0, ...more }, by);

  it('follows the model among the first rows, and keeps the scores in their places', async () => {
    const plain = await recall({ feature_tier: 'smart' });
    assert.equal(server.asked.length, 0, 'a tier below autonomous does not ask');
    assert.equal((plain['meta'] as Row)['reranker_used'], 'none');
    const wanted = blendedOf(plain, (title) => (title === titlesOf(plain).at(-1) ? 1 : 0));
    assert.notDeepEqual(wanted, titlesOf(plain));
    server.scores = (text) => (text.startsWith(`${titlesOf(plain).at(-1)}\n`) ? 1 : 0);
    const answer = await recall();
    assert.deepEqual(titlesOf(answer), wanted);
    assert.deepEqual(scoresOf(answer), scoresOf(plain));
    assert.deepEqual([answer['mode'], (answer['meta'] as Row)['reranker_used']], ['keyword', 'neural']);
    assert.equal(answer['note'], undefined);
    const { body, path } = server.asked[0]!;
    assert.equal(path, '/v1/rerank');
    assert.deepEqual([body['model'], body['query'], body['top_n']], ['cross', 'ferry island', 3]);
    assert.ok((body['documents'] as string[]).includes('Ferry\nThe ferry to the island leaves at two.'));
  });

  it('chooses the rows of a short answer among the first twenty', async () => {
    for (let at = 0; at < 30; at += 1) {
      const content = `The ferry to the island number ${at} leaves at two.`;
      await node.run('memory_store', { title: `Trip ${at}`, content, namespace: 'many' });
    }
    const many = { namespace: 'many', limit: 50 };
    const before = await recall({ ...many, feature_tier: 'semantic' });
    const plain = titlesOf(before);
    assert.equal(plain.length, 30);
    server.scores = (text) => (text.startsWith(`${plain[19]}\n`) ? 1 : 0);
    const wanted = blendedOf(before, (title) => (title === plain[19] ? 1 : 0));
    assert.ok(wanted.indexOf(plain[19]) < 10);
    const short = await recall({ ...many, limit: 10 });
    assert.deepEqual(titlesOf(short), wanted.slice(0, 10));
    assert.equal((server.asked.at(-1)!.body['documents'] as unknown[]).length, 20);
    const whole = await recall(many);
    assert.deepEqual(titlesOf(whole).slice(20), plain.slice(20), 'the rest keeps its order');
    const scores = scoresOf(whole);
    assert.deepEqual(
      scores,
      scores.toSorted((left, right) => right - left),
      'scores descend',
    );
  });

  it('sends only what its caller sees, in bounded passages', async () => {
    const secretText = 'The ferry of bob to the island is secret.';
    const bob = agent('ai:bob');
    await node.run(
      'memory_store',
      { title: 'Hidden', content: secretText, namespace: 'trip', scope: 'private' },
      bob,
    );
    const long = `${'Nothing here. '.repeat(1500)}The ferry island answer. ${'Nothing more. '.repeat(1500)}`;
    await node.run('memory_store', { title: 'Long', content: long, namespace: 'trip' });
    await recall();
    const documents = server.asked[0]!.body['documents'] as string[];
    assert.ok(!documents.some((text) => text.includes('bob')), 'no row of another agent is sent');
    const sent = documents.find((text) => text.startsWith('Long\n'))!;
    assert.ok(sent.length < 1100, `${sent.length} characters`);
    assert.match(sent, /The ferry island answer/);
  });

  const faults: readonly (readonly [mood: ModelMood, word: string])[] = [
    ['hang', 'late'],
    ['dead', 'failing'],
    ['cut', 'failing'],
    ['endless', 'late'],
    ['oversized', 'failing'],
    ['page', 'failing'],
    ['other-shape', 'failing'],
    [307, 'failing'],
    [401, 'failing'],
    [429, 'busy'],
    [500, 'failing'],
  ];
  for (const [mood, word] of faults)
    it(`keeps its own order and says so where the service is ${mood}`, async () => {
      const plain = await recall({ feature_tier: 'smart' });
      server.mood = mood;
      const began = performance.now();
      const answer = await recall();
      assert.ok(performance.now() - began < 4000);
      assert.deepEqual([titlesOf(answer), scoresOf(answer)], [titlesOf(plain), scoresOf(plain)]);
      const meta = answer['meta'] as Row;
      assert.deepEqual([meta['reranker_used'], meta['rerank'], answer['mode']], ['none', word, 'keyword']);
      assert.match(String(answer['note']), /^not reranked, because/);
    });

  const lies: Readonly<Record<string, unknown>> = {
    'too few scores': [{ index: 0, relevance_score: 1 }],
    'a text twice': [0, 0, 1].map((index) => ({ index, relevance_score: 1 })),
    'a text that was not sent': [0, 1, 3].map((index) => ({ index, relevance_score: 1 })),
    'no numbers': [0, 1, 2].map((index) => ({ index, relevance_score: 'high' })),
    'an endless number': [0, 1, 2].map((index) => ({ index, relevance_score: null })),
  };
  for (const [lie, results] of Object.entries(lies))
    it(`does not follow a service that answers ${lie}`, async () => {
      const plain = await recall({ feature_tier: 'smart' });
      server.reranks = { results };
      const answer = await recall();
      server.reranks = null;
      assert.deepEqual(titlesOf(answer), titlesOf(plain));
      assert.equal((answer['meta'] as Row)['rerank'], 'failing');
    });

  it('waits no longer than its caller', async () => {
    server.mood = 'hang';
    const began = performance.now();
    const answer = await node.call(
      'memory_recall',
      { context: 'ferry', namespace: 'trip', min_score: 0 },
      OPERATOR,
      { deadlineMs: node.services.clock.monotonicMs() + 150 },
    );
    assert.ok(answer.ok && performance.now() - began < 350);
    assert.equal((answer.value['meta'] as Row)['rerank'], 'late');
  });

  it('is counted in the tier only while it answers', async () => {
    const reported = async () => {
      const { tier, reranker_active, models, reranker_error } = await node.run('memory_capabilities', {});
      return [tier, reranker_active, (models as Row)['cross_encoder'], reranker_error];
    };
    assert.deepEqual(await reported(), ['keyword', 'neural', 'cross', undefined]);
    server.mood = 500;
    await recall();
    const { host } = new URL(server.url);
    assert.deepEqual(await reported(), ['keyword', 'off', 'cross', `${host} answers 500`]);
    server.mood = 'fine';
    await recall();
    assert.deepEqual(await reported(), ['keyword', 'neural', 'cross', undefined]);
  });
});

describe('a reranker', () => {
  let server: ModelServer;
  let clock: MovedClock;
  let log: ReturnType<typeof recordingLog>;
  const opened: Reranker[] = [];
  beforeEach(async () => {
    server = await ModelServer.start('compatible', { key: 'the-key' });
    clock = new MovedClock();
    log = recordingLog();
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await server.close();
  });

  const outcomes: string[] = [];
  const open = (more: Partial<RerankerSettings> = {}): Reranker => {
    outcomes.length = 0;
    const settings = {
      ...{ rerankerEnabled: true, rerankerBaseUrl: server.url, rerankerModel: 'cross' },
      ...{ rerankerApiKey: secret('the-key'), rerankerTimeoutMs: 5000, ...more },
    };
    const onRequest = (outcome: string) => void outcomes.push(outcome);
    const one = openReranker({ settings, clock, scheduler: realScheduler, log, onRequest });
    opened.push(one);
    return one;
  };
  const ask = (one: Reranker, texts = ['a ferry', 'a plane']) =>
    one.relevances('ferry', texts, clock.monotonicMs() + 5000);

  it('sends its key, and takes scores in any order and of any scale', async () => {
    const one = open();
    assert.deepEqual(await ask(one), [1, 0]);
    assert.equal(server.asked[0]!.authorization, 'Bearer the-key');
    server.scores = (text) => (text.includes('plane') ? 4 : -4);
    const [ferry, plane] = (await ask(one)) as number[];
    assert.ok(ferry! > 0 && ferry! < 0.02 && plane! > 0.98 && plane! < 1);
    assert.deepEqual(outcomes, ['ok', 'ok']);
  });

  it('is not asked for a while after three failures, then once', async () => {
    const one = open();
    server.mood = 500;
    for (let times = 0; times < 5; times += 1) assert.equal(await ask(one), 'failing');
    assert.equal(server.asked.length, 3);
    assert.deepEqual(outcomes, ['failed', 'failed', 'failed']);
    clock.aheadMs += 31_000;
    assert.equal(await ask(one), 'failing');
    assert.equal(await ask(one), 'failing');
    assert.equal(server.asked.length, 4);
    server.mood = 'fine';
    clock.aheadMs += 31_000;
    assert.deepEqual(await ask(one), [1, 0]);
    assert.equal(one.state().failing, false);
  });

  it('rests as long as the service asks', async () => {
    const one = open();
    Object.assign(server, { mood: 429, retryAfter: '7' });
    assert.equal(await ask(one), 'busy');
    server.mood = 'fine';
    clock.aheadMs += 5000;
    assert.equal(await ask(one), 'failing');
    clock.aheadMs += 2500;
    assert.deepEqual(await ask(one), [1, 0]);
  });

  it('leaves further recalls alone while eight are asked', async () => {
    const one = open();
    server.delayMs = 100;
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(one)));
    assert.equal(answers.filter((answer) => answer === 'busy').length, 4);
    assert.equal(server.openMax, 8);
  });

  it('never logs a text or its key, and is asked no more after its end', async () => {
    const one = open({ rerankerApiKey: secret('another-key') });
    assert.equal(await ask(one, ['a secret ferry', 'b']), 'failing');
    const said = JSON.stringify(log.lines);
    assert.match(said, /refuses the key \(401\)/);
    assert.ok(!said.includes('another-key') && !said.includes('secret ferry'));
    await one.close();
    assert.equal(await ask(one), 'failing');
    assert.equal(server.asked.length, 1);
  });

  it('ends what is asked when it is closed', async () => {
    const one = open({ rerankerTimeoutMs: 20_000 });
    server.mood = 'hang';
    const asked = one.relevances('ferry', ['a', 'b'], clock.monotonicMs() + 20_000);
    await until('the service is asked', () => server.asked.length === 1);
    const began = performance.now();
    await one.close();
    assert.equal(await asked, 'late');
    assert.ok(performance.now() - began < 2000);
  });

  it('does not exist unless it is enabled and has an address', () => {
    assert.equal(open({ rerankerEnabled: false }), NO_RERANKER);
    assert.equal(open({ rerankerBaseUrl: null }), NO_RERANKER);
    assert.equal(NO_RERANKER.state().enabled, false);
  });
});

describe('a daemon with embedder, chat model and reranker', { timeout: 120_000 }, () => {
  let server: ModelServer;
  let daemon: RunningDaemon;
  before(async () => {
    server = await ModelServer.start('compatible');
    daemon = await startDaemonHere(temporaryFolder('reranker'), await freePort(), {
      ...server.environment,
      ...{ SVC_RERANK_ENABLED: '1', SVC_RERANK_BASE_URL: server.url, SVC_EMBED_BACKEND: 'builtin' },
    });
  });
  after(async () => {
    await daemon.end('SIGTERM');
    await server.close();
  });

  it('is autonomous, answers hybrid+rerank, and counts', async () => {
    const send = async (path: string, body?: Row): Promise<Row> => {
      const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' };
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      return (await (await fetch(`${daemon.base}${path}`, { headers, ...sent })).json()) as Row;
    };
    for (const title of ['Ferry one', 'Ferry two'])
      await send('/memories', { title, content: `The ${title} leaves at two.` });
    await until('a recall is reranked', async () => {
      const { mode } = await send('/recall', { context: 'when does the ferry leave?' });
      return mode === 'hybrid+rerank';
    });
    assert.equal((await send('/capabilities'))['tier'], 'autonomous');
    const text = await (await fetch(`${daemon.base}/metrics`)).text();
    assert.match(text, /svc_rerank_requests_total\{outcome="ok"\} [1-9]/);
    assert.match(text, /svc_rerank_request_duration_seconds_count [1-9]/);
  });
});
