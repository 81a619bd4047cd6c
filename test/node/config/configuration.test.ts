import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { inspect } from 'node:util';
import type { ConfigProblem } from '../../../node/config/config-problem.js';
import { ConfigError, inspectConfiguration, loadSettings } from '../../../node/config/load-settings.js';
import { Secret } from '../../../node/config/secret.js';
import { defaultsIn, type Settings } from '../../../node/config/settings.js';
import { memoryGet } from '../../../node/operations/core/memory-get.js';
import { memoryRecall } from '../../../node/operations/core/memory-recall.js';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import type { Operation } from '../../../node/pipeline/operation.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import type { DeferredTouches } from '../../../node/runtime/touch-queue.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { openTestNode } from '../../support/test-node.js';

const folder = mkdtempSync(join(tmpdir(), 'mnemesh-configuration-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const KEY = 'sk-very-secret-1234';
let homes = 0;

function home(toml: string): string {
  homes += 1;
  const path = join(folder, `home-${homes}`);
  mkdirSync(path);
  writeFileSync(join(path, 'config.toml'), toml);
  return path;
}

type Env = Record<string, string | undefined>;

function load(toml: string, env: Env = {}, at = home(toml)) {
  const problems: ConfigProblem[] = [];
  const settings = loadSettings({ home: at }, { env, report: (problem) => problems.push(problem) });
  return { settings, problems, codes: problems.map((problem) => problem.code) };
}

function refused(toml: string, env: Env = {}): string {
  try {
    load(toml, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.ok(!error.message.includes(KEY), error.message);
    return error.message;
  }
  return assert.fail('the configuration was taken');
}

describe('an inline api_key', () => {
  for (const section of ['llm', 'llm.auto_tag', 'embeddings', 'reranker']) {
    it(`in [${section}] puts the defaults in the place of the whole file, without being quoted`, () => {
      const { settings, problems } = load(
        `api_key = "top"\n[limits]\nmax_page_size = 5\n[${section}]\napi_key = "${KEY}"`,
      );
      assert.deepEqual(
        problems.map(({ code, level }) => [code, level]),
        [['CONFIG_INLINE_API_KEY', 'error']],
      );
      assert.ok(!JSON.stringify(problems).includes(KEY));
      assert.deepEqual([settings.pageSizeMax, settings.apiKey], [defaultsIn('/').pageSizeMax, null]);
    });
  }

  it('is found in every spelling that TOML has', () => {
    for (const toml of [
      `llm = { api_key = "${KEY}" }`,
      `llm.api_key = "${KEY}"`,
      `["llm"]\n"api_key" = "${KEY}"`,
      `[llm]\napi_key = ["${KEY}"]`,
      '[embeddings]\napi_key = ""',
    ]) {
      assert.deepEqual(load(toml).codes, ['CONFIG_INLINE_API_KEY'], toml);
    }
    assert.match(refused(`[[llm]]\napi_key = "${KEY}"`), /llm must be a section/);
  });

  it('does not let a node that requires a key start without one', () => {
    const toml = `api_key = "top"\n[llm]\napi_key = "${KEY}"`;
    assert.match(refused(toml, { SVC_REQUIRE_API_KEY: '1' }), /no API key is configured/);
  });
});

describe('the key of a section', () => {
  const file = (content: string, mode = 0o400) => {
    homes += 1;
    const path = join(folder, `key-${homes}`);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };

  it('comes from the named variable or the first line of the named file, behind its own variable', () => {
    const named = '[llm]\napi_key_env = "MY_KEY"';
    assert.equal(load(named, { MY_KEY: KEY }).settings.llmApiKey?.reveal(), KEY);
    assert.equal(load(named, { MY_KEY: KEY, SVC_LLM_API_KEY: 'own' }).settings.llmApiKey?.reveal(), 'own');
    const path = file(` ${KEY} \r\nsecond line\n`);
    const { settings, problems } = load(`[embeddings]\napi_key_file = "${path}"`);
    assert.deepEqual([settings.embedApiKey?.reveal(), problems], [KEY, []]);
    assert.equal(load(`[llm.auto_tag]\napi_key_file = "${path}"`).settings.autoTagApiKey?.reveal(), KEY);
  });

  it('in a relative file is looked for beside the configuration', () => {
    const at = home('[llm]\napi_key_file = "llm.key"');
    writeFileSync(join(at, 'llm.key'), KEY, { mode: 0o400 });
    assert.equal(load('', {}, at).settings.llmApiKey?.reveal(), KEY);
  });

  it('with two sources refuses the start', () => {
    const message = refused(`[llm]\napi_key_env = "${KEY}"\napi_key_file = "${KEY}"`);
    assert.match(message, /\[llm\] has both api_key_env and api_key_file/);
  });

  it('that cannot be had is an error that names neither file nor variable, and the node goes on', () => {
    for (const mode of [0o600, 0o440, 0o404, 0o644, 0o500]) {
      const { settings, codes } = load(`[llm]\napi_key_file = "${file(KEY, mode)}"`);
      assert.deepEqual([settings.llmApiKey, codes], [null, ['CONFIG_KEY_FILE_MODE']], mode.toString(8));
    }
    const cases: readonly (readonly [toml: string, code: string])[] = [
      [`api_key_file = "${KEY}"`, 'CONFIG_KEY_FILE_MISSING'],
      [`api_key_file = "${folder}"`, 'CONFIG_KEY_FILE_UNREADABLE'],
      [`api_key_file = "${file('\nsecond')}"`, 'CONFIG_KEY_FILE_UNREADABLE'],
      [`api_key_file = "${file('x'.repeat(20_000))}"`, 'CONFIG_KEY_FILE_UNREADABLE'],
      [`api_key_env = "${KEY}"`, 'CONFIG_KEY_ENV_UNSET'],
    ];
    for (const [toml, code] of cases) {
      const { settings, problems, codes } = load(`[llm]\n${toml}`);
      assert.deepEqual([settings.llmApiKey, codes], [null, [code]], toml);
      assert.ok(!JSON.stringify(problems).includes(KEY), toml);
      assert.ok(!JSON.stringify(problems).includes(folder) || !toml.includes('x/'), toml);
    }
  });
});

describe('a secret', () => {
  it('shows itself to nobody who does not ask', () => {
    const secret = new Secret(KEY);
    const holder = { secret };
    for (const text of [
      `${secret}`,
      String(secret),
      JSON.stringify(holder),
      inspect(holder, { showHidden: true, depth: 9 }),
      Object.values(secret).join(),
      JSON.stringify({ ...secret }),
      JSON.stringify(structuredClone({ ...holder, secret: { ...secret } })),
    ]) {
      assert.ok(!text.includes(KEY), text);
    }
    assert.equal(secret.reveal(), KEY);
  });

  it('is hidden in the settings as a whole', () => {
    const { settings } = load(
      `api_key = "${KEY}"\n[hooks.subscription]\nhmac_secret = "00ff00ff00ff00ff00ff00ff00ff00ff"`,
      {
        SVC_LLM_API_KEY: KEY,
        SVC_EMBED_API_KEY: KEY,
      },
    );
    for (const text of [JSON.stringify(settings), inspect(settings, { depth: 9 })]) {
      assert.ok(!text.includes(KEY) && !text.includes('00ff00ff'), text);
    }
  });

  it('that must be hexadecimal and is not refuses the start without being quoted', () => {
    assert.match(
      refused(`[hooks.subscription]\nhmac_secret = "${KEY}"`),
      /hmac_secret .*must be hexadecimal/,
    );
  });
});

describe('keys of the file', () => {
  it('that are unknown are named once each, with the likely one', () => {
    const { problems } = load(
      'api_kye = 1\n[storage]\ndefault_namspace = "x"\n[lmits]\nmax_page_size = 1\n[limits]\nzzzzzz = 1\n[admin]\nmax_page_size = 2',
    );
    assert.deepEqual(
      problems.map(({ message }) => message.replace(/^.*config\.toml: /, '')),
      [
        'api_kye is not known and has no effect; did you mean api_key?',
        'storage.default_namspace is not known and has no effect; did you mean storage.default_namespace?',
        'section [lmits] is not known and has no effect; did you mean [limits]?',
        'limits.zzzzzz is not known and has no effect',
        'admin.max_page_size is not known and has no effect; did you mean limits.max_page_size?',
      ],
    );
  });

  it('that belong into a section are named with it, and unlike keys are not guessed', () => {
    const { problems } = load('port = 1\nhost = "::1"\nprot = 2\n[http]\nprot = 3\n[mesh]\nnode = 4');
    assert.deepEqual(
      problems.map(({ message }) => message.replace(/^.*config\.toml: /, '')),
      [
        'port is not known and has no effect; did you mean http.port?',
        'host is not known and has no effect; did you mean http.host?',
        'prot is not known and has no effect',
        'http.prot is not known and has no effect; did you mean http.port?',
        'section [mesh] is not known and has no effect',
      ],
    );
  });

  it('of the reference that nobody reads are not called unknown', () => {
    assert.deepEqual(load('tier = "smart"\n[verify]\nstrict = true').codes, [
      'CONFIG_KEY_NOT_READ',
      'CONFIG_KEY_NOT_READ',
    ]);
  });

  it('do not flood: beyond twenty they are counted', () => {
    const many = Array.from({ length: 500 }, (_, n) => `unknown_${n} = 1`).join('\n');
    const { problems } = load(many);
    assert.equal(problems.length, 21);
    assert.match(problems.at(-1)!.message, /480 more/);
  });

  it('of prototypes are keys like others', () => {
    const { problems } = load('constructor = 1\n__proto__ = 2\n[limits]\ntoString = 1');
    assert.equal(problems.length, 3);
  });

  it('where a section must stand refuse the start', () => {
    assert.match(refused('limits = 5'), /limits must be a section/);
    assert.match(refused('[agents]\ndefaults = "x"'), /agents\.defaults must be a section/);
  });

  it('a schema version of the future is told', () => {
    assert.deepEqual(load('schema_version = 3').codes, ['CONFIG_SCHEMA_VERSION']);
    assert.deepEqual(load('schema_version = 2').codes, []);
  });
});

describe('legacy fields', () => {
  const LEGACY = `
    llm_model = "m"
    ollama_url = "http://127.0.0.1:1"
    embed_url = "http://127.0.0.1:2"
    embedding_model = "mini_lm_l6_v2"
    cross_encoder = true
    default_namespace = "old"
    archive_on_gc = false
    archive_max_days = 9
    max_memory_mb = 8
    auto_tag_model = "t"
  `;
  const VALUES: Partial<Settings> = {
    llmModel: 'm',
    llmBaseUrl: 'http://127.0.0.1:1',
    embedBaseUrl: 'http://127.0.0.1:2',
    embedModel: 'mini_lm_l6_v2',
    // The address was that of a service of this shape.
    embedBackend: 'local-native',
    llmBackend: 'local-native',
    rerankerEnabled: true,
    defaultNamespace: 'old',
    archiveOnGc: false,
    archiveMaxDays: 9,
    maxMemoryMb: 8,
    autoTagModel: 't',
  };

  it('count, and one warning names them all', () => {
    const { settings, problems } = load(LEGACY);
    for (const [key, value] of Object.entries(VALUES)) {
      assert.deepEqual(settings[key as keyof Settings], value, key);
    }
    // The flat form has no address of a reranker.
    assert.deepEqual(
      problems.slice(1).map(({ code }) => code),
      ['CONFIG_RERANKER_INCOMPLETE'],
    );
    for (const line of LEGACY.trim().split('\n')) {
      assert.ok(problems[0]!.message.includes(line.trim().split(' ')[0]!), line);
    }
  });

  it('go behind their section and before the default', () => {
    const { settings } = load(
      'default_namespace = "old"\narchive_max_days = 9\n[storage]\ndefault_namespace = "new"',
    );
    assert.deepEqual([settings.defaultNamespace, settings.archiveMaxDays], ['new', 9]);
    assert.equal(
      load('embed_url = "http://a"\n[embeddings]\nurl = "http://b"').settings.embedBaseUrl,
      'http://b',
    );
  });
});

describe('the origin of a value', () => {
  it('is known for each setting', () => {
    const at = home('archive_max_days = 9\n[limits]\nmax_page_size = 5\n[embeddings]\nurl = "http://a"');
    const { origins } = inspectConfiguration({ home: at, port: 1 }, { env: { SVC_PROFILE: 'full' } });
    assert.deepEqual(
      (['port', 'profile', 'pageSizeMax', 'embedBaseUrl', 'archiveMaxDays', 'host'] as const).map((key) =>
        origins.get(key),
      ),
      [
        { source: 'flag', name: '--port' },
        { source: 'environment', name: 'SVC_PROFILE' },
        { source: 'file', name: 'limits.max_page_size' },
        { source: 'file', name: 'embeddings.url' },
        { source: 'legacy', name: 'archive_max_days' },
        { source: 'default', name: null },
      ],
    );
  });

  it('is the default after a value was refused, and all refusals are listed', () => {
    const at = home('[limits]\nmax_page_size = "many"\nmax_links_per_day = -1');
    const { settings, origins, problems } = inspectConfiguration({ home: at }, { env: { SVC_PROFILE: 'x' } });
    assert.equal(settings.pageSizeMax, 1000);
    assert.equal(origins.get('pageSizeMax')?.source, 'default');
    assert.equal(problems.filter(({ level }) => level === 'fatal').length, 3);
  });
});

describe('times to live', () => {
  it('are settings of the store path and of touches', async () => {
    const node = await openTestNode({ shortTtlSeconds: 60, midTtlSeconds: null, shortExtendSeconds: 90_000 });
    const { services } = node;
    const viewer = { all: true, agentId: null, asNamespace: null };
    const caller = { agentId: 'ai:ttl', claimed: 'explicit', viewer, admin: false, local: true } as const;
    const call = <T>(operation: Operation, input: Record<string, unknown>) =>
      runOperation(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' }, services).then(
        (result) => {
          assert.ok(result.ok, JSON.stringify(result));
          return result.value as T;
        },
      );
    const secondsLeft = async (id: string) => {
      const { memory } = await call<{ memory: Memory }>(memoryGet, { id });
      if (typeof memory.expires_at !== 'string') return null;
      return (Date.parse(memory.expires_at) - Date.parse(memory.created_at)) / 1000;
    };
    try {
      const [short, mid] = await Promise.all(
        ['short', 'mid'].map((tier) =>
          call<Memory>(memoryStore, { title: tier, content: 'some words', tier }).then(({ id }) => id),
        ),
      );
      assert.deepEqual([await secondsLeft(short!), await secondsLeft(mid!)], [60, null]);
      await call(memoryRecall, { context: 'words' });
      await (services.touches as DeferredTouches).flush();
      assert.ok((await secondsLeft(short!))! >= 90_000);
    } finally {
      await node.close();
    }
  });
});
