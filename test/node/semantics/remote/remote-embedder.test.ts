import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '../../../../node/config/secret.js';
import { RemoteEmbedder } from '../../../../node/semantics/remote/remote-embedder.js';
import { COMPATIBLE, LOCAL_NATIVE } from '../../../../node/semantics/remote/wire-shapes.js';
import { answeringEmbedderContract, embedderContract } from '../../../contract/embedder-contract.js';
import { realClock, realScheduler, recordingLog } from '../../../storage/vectors/real-seams.js';
import { EmbeddingServer, type Mood } from '../../../support/embedding-server.js';
import { until } from '../../../support/wait.js';

const KEY = 'sk-a-very-secret-key';
const DIM = 32;
const SHAPES = { native: LOCAL_NATIVE, compatible: COMPATIBLE } as const;

interface Given {
  readonly shape?: keyof typeof SHAPES;
  readonly baseUrl: string;
  readonly clock?: { nowMs(): number; monotonicMs(): number };
  readonly log?: ReturnType<typeof recordingLog>;
  readonly timeoutMs?: number;
  readonly key?: string | null;
}

function embedderAt({ shape = 'compatible', baseUrl, clock, log, timeoutMs = 2000, key = KEY }: Given) {
  return new RemoteEmbedder({
    name: `${shape}/test`,
    shape: SHAPES[shape],
    baseUrl,
    model: 'Org/Model:v1',
    dim: DIM,
    windowTokens: 230,
    prefixes: { query: '', text: '' },
    key: key === null ? null : new Secret(key),
    clock: clock ?? realClock,
    scheduler: realScheduler,
    log: log ?? recordingLog(),
    timeoutMs,
  });
}

for (const shape of ['native', 'compatible'] as const) {
  describe(`a service of the shape ${shape}`, () => {
    let server: EmbeddingServer;
    before(async () => {
      server = await EmbeddingServer.start(shape, { dim: DIM, key: shape === 'compatible' ? KEY : null });
    });
    after(() => server.close());
    const open = () => embedderAt({ shape, baseUrl: server.url, key: shape === 'compatible' ? KEY : null });
    embedderContract(shape, open);
    answeringEmbedderContract(shape, open);
  });
}

describe('what is sent', () => {
  const each = async (
    shape: keyof typeof SHAPES,
    path: string,
    key: string | null,
    check: (server: EmbeddingServer) => void,
  ) => {
    const server = await EmbeddingServer.start(shape, { dim: DIM });
    const embedder = embedderAt({ shape, baseUrl: `${server.url}${path}`, key });
    assert.ok((await embedder.embed(['one', 'two'])).ok);
    check(server);
    await embedder.close();
    await server.close();
  };

  it('to the local-native shape has the truncate flag and no key', () =>
    each('native', '', null, ({ asked }) => {
      assert.deepEqual(asked, [
        {
          path: '/api/embed',
          authorization: undefined,
          body: { model: 'Org/Model:v1', input: ['one', 'two'], truncate: true },
        },
      ]);
    }));

  it('to the compatible shape has the key and the model as it was configured', () =>
    each('compatible', '', KEY, ({ asked }) => {
      assert.equal(asked[0]!.path, '/v1/embeddings');
      assert.equal(asked[0]!.authorization, `Bearer ${KEY}`);
      assert.deepEqual(asked[0]!.body['model'], 'Org/Model:v1');
    }));

  it('goes under the path of a base URL that has one, and keeps its query', () =>
    each('compatible', '/openai/v3/?api-version=7', KEY, ({ asked }) => {
      assert.equal(asked[0]!.path, '/openai/v3/embeddings?api-version=7');
    }));

  it('is at most 32 texts in one request, in order', async () => {
    const server = await EmbeddingServer.start('compatible', { dim: DIM });
    const embedder = embedderAt({ baseUrl: server.url });
    const texts = Array.from({ length: 70 }, (_, at) => `text number ${at}`);
    assert.ok((await embedder.embed(texts)).ok);
    assert.deepEqual(
      server.asked.flatMap(({ body }) => body['input']),
      texts,
    );
    assert.deepEqual(
      server.asked.map(({ body }) => (body['input'] as string[]).length),
      [32, 32, 6],
    );
    await embedder.close();
    await server.close();
  });
});

describe('a service that fails', () => {
  let server: EmbeddingServer;
  let nowMs = 0;
  let log = recordingLog();
  const clock = { nowMs: () => 0, monotonicMs: () => realClock.monotonicMs() + nowMs };
  let embedder: RemoteEmbedder;
  before(async () => {
    server = await EmbeddingServer.start('compatible', { dim: DIM, key: KEY });
  });
  after(() => server.close());
  beforeEach(() => {
    server.mood = 'fine';
    server.refuses = null;
    server.retryAfter = null;
    server.delayMs = 0;
    server.asked.length = 0;
    nowMs = 0;
    log = recordingLog();
  });
  const open = (given: Partial<Given> = {}) => {
    embedder = embedderAt({ baseUrl: server.url, clock, log, timeoutMs: 60_000, ...given });
    return embedder;
  };
  const ask = (text = 'a question') => embedder.embedQuery(text, clock.monotonicMs() + 60_000);

  const reasons: readonly (readonly [Mood, RegExp])[] = [
    ['hang', /did not answer in 400 ms/],
    ['wrong-dimension', /answers 33 dimensions, not 32: set \[embeddings\] dim = 33/],
    ['rate-limited', /asks for a pause \(429\)/],
    ['broken', /answers 500/],
    ['garbage', /not one vector for each text/],
    ['short', /not one vector for each text/],
    ['huge', /larger than 16 MiB/],
    ['redirect', /redirects, which is refused/],
    ['no-such-model', /refuses the text \(400\)/],
  ];
  for (const [mood, reason] of reasons) {
    it(`(${mood}) is named, and answers again when it recovers`, async () => {
      open(mood === 'hang' ? { timeoutMs: 400 } : {});
      server.mood = mood;
      for (const outcome of [await ask(), await embedder.embed(['a memory'])]) {
        assert.ok(!outcome.ok && outcome.error.code === 'UNAVAILABLE', JSON.stringify(outcome));
      }
      const { failing, loaded, lastError } = embedder.state();
      assert.deepEqual([failing, loaded], [true, false]);
      assert.match(lastError!, reason);
      server.mood = 'fine';
      nowMs += 31_000;
      assert.ok((await ask()).ok);
      assert.deepEqual(embedder.state(), { loaded: true, failing: false, lastError: null });
      await embedder.close();
    });
  }

  it('is left alone for 30 seconds after three failures, then one call tries', async () => {
    open();
    server.mood = 'broken';
    for (let at = 0; at < 5; at += 1) await ask(`question ${at}`);
    assert.equal(server.asked.length, 3);
    nowMs += 29_000;
    assert.ok(!(await ask()).ok);
    assert.equal(server.asked.length, 3);
    nowMs += 2000;
    await Promise.all([ask('one'), ask('two'), ask('three')]);
    assert.equal(server.asked.length, 4, 'one tries');
    await embedder.close();
  });

  it('that asks for a pause gets it', async () => {
    open();
    server.mood = 'rate-limited';
    server.retryAfter = '7';
    await ask();
    server.mood = 'fine';
    nowMs += 6000;
    assert.ok(!(await ask()).ok);
    assert.equal(server.asked.length, 1);
    nowMs += 1500;
    assert.ok((await ask()).ok);
    await embedder.close();
  });

  it('slowly is not waited for longer than the caller can, and its late answer serves the next call', async () => {
    open({ timeoutMs: 5000 });
    server.delayMs = 300;
    const late = await embedder.embedQuery('a slow question', clock.monotonicMs() + 50);
    assert.ok(!late.ok && late.error.code === 'DEADLINE');
    await until('the answer came', () => embedder.state().loaded);
    const again = await embedder.embedQuery('a slow question', clock.monotonicMs() + 50);
    assert.ok(again.ok);
    assert.equal(server.asked.length, 1);
    await embedder.close();
  });

  it('that hangs keeps nobody waiting after three callers gave up', async () => {
    open({ timeoutMs: 60_000 });
    server.mood = 'hang';
    for (let at = 0; at < 3; at += 1) await embedder.embedQuery(`question ${at}`, clock.monotonicMs() + 30);
    const startedMs = realClock.monotonicMs();
    const refused = await embedder.embedQuery('one more', clock.monotonicMs() + 5000);
    assert.ok(!refused.ok && refused.error.code === 'UNAVAILABLE');
    assert.ok(realClock.monotonicMs() - startedMs < 1000);
    await embedder.close();
  });

  it('is not there at all', async () => {
    const gone = await EmbeddingServer.start('compatible');
    const { url } = gone;
    await gone.close();
    open({ baseUrl: url });
    const outcome = await ask();
    assert.ok(!outcome.ok && outcome.error.code === 'UNAVAILABLE');
    assert.match(embedder.state().lastError!, /ECONNREFUSED/);
    await embedder.close();
  });

  it('for one text refuses that text only', async () => {
    open();
    server.refuses = 'poison';
    const together = await embedder.embed(['fine', 'poison']);
    assert.ok(!together.ok && together.error.code === 'INVALID_ARGUMENT');
    assert.equal(embedder.state().failing, false);
    assert.ok((await embedder.embed(['fine'])).ok);
    server.refuses = null;
    server.mood = 'zero';
    const zero = await embedder.embed(['an empty memory']);
    assert.ok(!zero.ok && zero.error.code === 'INVALID_ARGUMENT');
    await embedder.close();
  });

  it('never shows its key, its texts or what it answered', async () => {
    open({ key: 'sk-another-secret' });
    const outcome = await ask('a private question');
    assert.ok(!outcome.ok);
    assert.match(embedder.state().lastError!, /refuses the key \(401\)/);
    server.mood = 'broken';
    await embedder.embed(['a private memory']);
    const shown = [
      JSON.stringify(outcome),
      inspect(embedder, { depth: 9, showHidden: true }),
      log.lines.join('\n'),
      embedder.state().lastError,
    ].join('\n');
    assert.doesNotMatch(shown, /sk-another-secret|private question|private memory/);
    await embedder.close();
  });
});
