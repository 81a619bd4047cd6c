import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startDaemonHere } from '../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../support/daemon-process.js';
import { EmbeddingServer } from '../support/embedding-server.js';
import { ModelServer } from '../support/model-server.js';
import { until } from '../support/wait.js';
import { commandsIn, run } from '../surface/cli/cli-process.js';

type Environment = Record<string, string>;
type Fields = Readonly<Record<string, unknown>>;

const LONG = 'We deploy on Sundays between 02:00 and 04:00 UTC, when few people are online.';
const KEY = 'the key of the model';

/** A home with a configuration. */
function homeWith(config: string): string {
  const home = temporaryFolder('model-settings');
  writeFileSync(join(home, 'config.toml'), config, { mode: 0o600 });
  return home;
}

/** What the settings of models do that somebody sees; each is read by a process of its own. */
describe('settings of models', { timeout: 180_000 }, () => {
  let native: ModelServer;
  let keyed: ModelServer;
  before(async () => {
    native = await ModelServer.start('native');
    keyed = await ModelServer.start('compatible', { key: KEY });
  });
  after(() => Promise.all([native.close(), keyed.close()]));
  beforeEach(() => {
    for (const server of [native, keyed]) {
      server.asked.length = 0;
      Object.assign(server, { mood: 'fine', moods: [], script: [], says: 'deploy' });
    }
  });

  /** What each question was about and which model it named. */
  const asked = ({ asked: requests }: ModelServer) =>
    requests.filter(({ body }) => body['messages'] !== undefined).map(({ body }) => body['model']);
  const expand = async (home: string, env: Environment = {}) => {
    const { code, out, err } = await run(home, ['expand', 'when may we deploy?', '--json'], { env });
    // Lines of the log go to standard error too.
    const lines = (code === 0 ? out : err).trim().split('\n');
    const documents = lines.map((line) => JSON.parse(line) as Fields);
    return { code, answer: documents.find((document) => document['level'] === undefined)! };
  };
  const withDaemon = async <T>(
    home: string,
    env: Environment,
    act: (daemon: RunningDaemon) => Promise<T>,
  ) => {
    const daemon = await startDaemonHere(home, await freePort(), env);
    try {
      return await act(daemon);
    } finally {
      await daemon.end('SIGTERM');
    }
  };
  const store = async (home: string, title: string, env: Environment = {}, content = LONG) => {
    const { code, out, err } = await run(home, ['store', '--title', title, '--content', content, '--json'], {
      env,
    });
    assert.equal(code, 0, err);
    return JSON.parse(out) as Fields;
  };

  it('SVC_LLM_BACKEND, _BASE_URL, _MODEL and _API_KEY say which model is asked, with which key', async () => {
    const home = temporaryFolder('model-settings');
    const all = keyed.environment;
    assert.deepEqual((await expand(home, all)).answer['expanded_terms'], ['deploy']);
    assert.deepEqual([asked(keyed), keyed.asked[0]!.authorization], [['scripted'], `Bearer ${KEY}`]);
    await expand(home, { ...all, SVC_LLM_MODEL: 'another' });
    assert.deepEqual(asked(keyed), ['scripted', 'another']);
    assert.equal((await expand(home, { ...all, SVC_LLM_API_KEY: 'wrong' })).answer['code'], 'LLM_FAILED');
    const { SVC_LLM_BACKEND: _, ...bare } = all;
    assert.equal((await expand(home, bare)).answer['code'], 'LLM_UNAVAILABLE');
    const elsewhere = { ...all, SVC_LLM_BACKEND: 'local-native', SVC_LLM_BASE_URL: native.url };
    await expand(home, elsewhere);
    assert.deepEqual([native.asked[0]!.path, asked(keyed).length], ['/api/chat', 3]);
  });

  it('[llm] and [llm.auto_tag] name a model each, its address, and the file of its key', async () => {
    const home = homeWith(`schema_version = 2
[llm]
backend = "compatible"
base_url = "${keyed.url}"
model = "large"
api_key_file = "llm.key"
[llm.auto_tag]
backend = "ollama"
base_url = "${native.url}"
model = "small"
`);
    writeFileSync(join(home, 'llm.key'), KEY, { mode: 0o400 });
    await expand(home);
    const ids = [(await store(home, 'One'))['id'], (await store(home, 'Two', {}, 'Mondays at noon'))['id']];
    const joined = await commandsIn(home)('consolidate', ids.join(), '--title', 'Both', '--use-llm');
    assert.equal(joined.code, 0, joined.err);
    assert.deepEqual([asked(native), asked(keyed)], [['small'], ['large']]);
    const doctor = (await commandsIn(home)('doctor')).out;
    for (const line of ['llm model: large', 'llm.auto_tag model: small'])
      assert.ok(doctor.includes(line), line);
    assert.doesNotMatch(doctor, /CONFIG_KEY_NOT_READ/);
  });

  it('max_calls_per_day ends the questions of the day, in the file and as SVC_LLM_MAX_CALLS_PER_DAY', async () => {
    const section = `schema_version = 2\n[llm]\nbackend = "ollama"\nbase_url = "${native.url}"\n`;
    const home = homeWith(`${section}max_calls_per_day = 2\n`);
    const codes: unknown[] = [];
    for (let call = 0; call < 3; call += 1) codes.push((await expand(home)).answer['code']);
    assert.deepEqual([codes, asked(native).length], [[undefined, undefined, 'LLM_LIMIT'], 2]);
    assert.equal((await expand(home, { SVC_LLM_MAX_CALLS_PER_DAY: '3' })).code, 0);
    assert.equal((await expand(home, { SVC_LLM_MAX_CALLS_PER_DAY: '3' })).answer['code'], 'LLM_LIMIT');
    assert.match((await commandsIn(home)('doctor')).out, /requests today: 3 of 2\n/);
  });

  it('llm_call_timeout_secs ends a question that takes longer', async () => {
    const home = homeWith(
      `schema_version = 2\nllm_call_timeout_secs = 1\n[llm]\nbackend = "ollama"\nbase_url = "${native.url}"\n`,
    );
    native.mood = 'hang';
    const begun = performance.now();
    assert.equal((await expand(home)).answer['code'], 'LLM_UNAVAILABLE');
    // Far from the 30 seconds that are the default.
    assert.ok(performance.now() - begun < 15_000);
  });

  it('autonomous_hooks has new memories tagged, and a store say when they will not be', async () => {
    const home = homeWith(
      `schema_version = 2\nautonomous_hooks = true\n[llm]\nbackend = "ollama"\nbase_url = "${native.url}"\n`,
    );
    await withDaemon(home, {}, async () => {
      assert.equal((await store(home, 'Long'))['autonomy_hook_skipped'], undefined);
      assert.equal((await store(home, 'Short', {}, 'Sundays'))['autonomy_hook_skipped'], 'content_too_short');
      await until('the memory is tagged', async () => asked(native).length > 0);
    });
    native.asked.length = 0;
    const off = { SVC_AUTONOMOUS_HOOKS: '0' };
    await withDaemon(home, off, async () => {
      await store(home, 'Another', off, `${LONG} Not on holidays.`);
      const { jobs } = JSON.parse((await commandsIn(home)('jobs', 'list', '--json')).out);
      assert.deepEqual([jobs.length, asked(native)], [1, []]);
    });
    const none = { SVC_AUTONOMOUS_HOOKS: '1', SVC_LLM_BACKEND: 'none' };
    await withDaemon(home, none, async () => {
      assert.equal((await store(home, 'Third', none, `${LONG} Never.`))['autonomy_hook_skipped'], 'no_llm');
    });
  });

  it('[reranker] has a service order what recall found', async () => {
    const home = homeWith(
      `schema_version = 2\n[reranker]\nenabled = true\nbase_url = "${native.url}"\nmodel = "cross"\n`,
    );
    await withDaemon(home, {}, async ({ base }) => {
      await store(home, 'Deploys', {}, 'deploy window deploy window');
      await store(home, 'Sundays', {}, 'the deploy window is on Sundays at two');
      const recall = await commandsIn(home)('recall', 'which deploy window is on Sundays', '--json');
      assert.equal(recall.code, 0, recall.err);
      const ranked = native.asked.filter(({ path }) => path.endsWith('/rerank'));
      assert.deepEqual([ranked.length > 0, ranked[0]?.body['model']], [true, 'cross']);
      assert.equal(JSON.parse(recall.out).memories[0].title, 'Sundays');
      const capabilities = (await (await fetch(`${base}/capabilities`)).json()) as { features: Fields };
      assert.equal(capabilities.features['cross_encoder_reranking'], true);
      native.asked.length = 0;
    });
    await withDaemon(home, { SVC_RERANK_ENABLED: '0' }, async () => {
      await commandsIn(home)('recall', 'which deploy window is on Sundays');
      assert.deepEqual(native.asked, []);
    });
  });

  it('[boot] ends or shortens what an agent reads when it begins', async () => {
    const boot = async (config: string) => {
      const home = homeWith(`schema_version = 2\n${config}`);
      await store(home, 'Deploy window');
      return (await commandsIn(home)('boot')).out;
    };
    assert.match(await boot(''), /Deploy window/);
    assert.equal(await boot('[boot]\nenabled = false\n'), '');
    const redacted = await boot('[boot]\nredact_titles = true\n');
    assert.match(redacted, /<redacted>/);
    assert.doesNotMatch(redacted, /Deploy window/);
  });

  it('legacy fields still count, and ollama_url names the local-native shape', async () => {
    const home = homeWith(
      `ollama_url = "${native.url}"\nllm_model = "old"\nauto_tag_model = "old-small"\ndefault_namespace = "team"\n`,
    );
    assert.deepEqual((await expand(home)).answer['expanded_terms'], ['deploy']);
    assert.deepEqual([asked(native), native.asked[0]!.path], [['old-small'], '/api/chat']);
    const first = await store(home, 'One');
    assert.equal(first['namespace'], 'team');
    const second = (await store(home, 'Two', {}, 'Mondays at noon'))['id'];
    await commandsIn(home)('consolidate', `${first['id']},${second}`, '--title', 'Both', '--use-llm');
    assert.deepEqual(asked(native), ['old-small', 'old']);
    assert.match((await commandsIn(home)('doctor')).out, /CONFIG_LEGACY/);
  });

  it('SVC_EMBED_BACKEND, _BASE_URL, _MODEL and _API_KEY, and embed_url, say what embeds memories', async () => {
    const compatible = await EmbeddingServer.start('compatible', { key: KEY });
    const local = await EmbeddingServer.start('native');
    const embedded = async (home: string, env: Environment, server: EmbeddingServer) => {
      await withDaemon(home, env, async () => {
        await store(home, 'The cat', env, 'The cat sleeps on the sofa');
        await until('the memory is embedded', async () => server.asked.length > 0);
      });
      return server.asked.at(-1)!;
    };
    try {
      const variables = { SVC_EMBED_BACKEND: 'compatible', SVC_EMBED_BASE_URL: compatible.url };
      const more = { SVC_EMBED_MODEL: 'words', SVC_EMBED_API_KEY: KEY };
      const by = await embedded(homeWith('[embeddings]\ndim = 32\n'), { ...variables, ...more }, compatible);
      assert.deepEqual(
        [by.path, by.body['model'], by.authorization],
        ['/v1/embeddings', 'words', `Bearer ${KEY}`],
      );
      const legacy = `embed_url = "${local.url}"\nembedding_model = "words"\n[embeddings]\ndim = 32\n`;
      // Nothing names a backend but the legacy address.
      const old = await embedded(homeWith(legacy), { SVC_EMBED_BACKEND: '' }, local);
      assert.deepEqual([old.path, old.body['model']], ['/api/embed', 'words']);
    } finally {
      await Promise.all([compatible.close(), local.close()]);
    }
  });
});
