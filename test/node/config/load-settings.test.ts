import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { lifePolicyOf, ttlSecondsOf } from '../../../node/config/life-policy.js';
import { ConfigError, loadSettings, type SettingFlags } from '../../../node/config/load-settings.js';
import { MODEL_ALIASES } from '../../../node/config/model-vendors.js';
import { Secret } from '../../../node/config/secret.js';
import { defaultsIn, SETTINGS, type Settings } from '../../../node/config/settings.js';
import { FAMILIES } from '../../../node/config/tool-families.js';

const folder = mkdtempSync(join(tmpdir(), 'mnemesh-settings-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let homes = 0;
/** A home of its own for each case, with a configuration file if one is given. */
function home(toml?: string): string {
  homes += 1;
  const path = join(folder, `home-${homes}`);
  mkdirSync(path);
  if (toml !== undefined) writeFileSync(join(path, 'config.toml'), toml);
  return path;
}

type Env = Record<string, string | undefined>;
const load = (env: Env = {}, toml?: string, flags: SettingFlags = {}): Settings =>
  loadSettings({ home: home(toml), ...flags }, { env, report: () => undefined });

/** A secret as what it hides, since two secrets look alike to an assertion. */
const plain = (value: unknown) => (value instanceof Secret ? `secret:${value.reveal()}` : value);

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail('the configuration was taken');
}

describe('the settings', () => {
  it('are the defaults, with paths in the home, when nothing is configured', () => {
    const at = home();
    assert.deepEqual(loadSettings({ home: at }, { env: {} }), {
      ...defaultsIn(at),
      home: at,
      dbPath: join(at, 'mnemesh.db'),
      keyDir: join(at, 'keys'),
      skillsImportRoot: join(at, 'skills'),
      skillsExportRoot: join(at, 'skills'),
      logDir: join(at, 'logs'),
      auditDir: join(at, 'audit'),
    });
  });

  it('find the home in flags, then SVC_HOME, then the user’s folder', () => {
    assert.equal(loadSettings({ home: '/flag' }, { env: { SVC_HOME: '/env' } }).home, '/flag');
    const settings = loadSettings({}, { env: { SVC_HOME: '/env' } });
    assert.deepEqual([settings.home, settings.dbPath], ['/env', '/env/mnemesh.db']);
    const bare = loadSettings({}, { env: { SVC_NO_CONFIG: '1' } });
    assert.equal(bare.home, join(homedir(), '.mnemesh'));
  });

  it('make relative paths absolute, but leave :memory: alone', () => {
    assert.equal(load({ SVC_DB: 'some/where.db' }).dbPath, resolve('some/where.db'));
    assert.equal(loadSettings({ home: 'some/home' }, { env: {} }).home, resolve('some/home'));
    assert.equal(load({}, undefined, { dbPath: ':memory:' }).dbPath, ':memory:');
  });

  it('never take an empty variable for a value', () => {
    const env = Object.fromEntries(
      SETTINGS.flatMap((row) => (row.env === undefined || row.env === 'SVC_HOME' ? [] : [[row.env, '']])),
    );
    const places = {
      home: '',
      dbPath: '',
      keyDir: '',
      hooksPath: '',
      skillsImportRoot: '',
      skillsExportRoot: '',
      logDir: '',
      auditDir: '',
    };
    assert.deepEqual({ ...load(env), ...places }, { ...load(), ...places });
  });

  it('give hooks a path beside the file, and of the environment only what holds no secret', () => {
    const env = {
      PATH: '/bin',
      LANG: 'C',
      SVC_API_KEY: 'k',
      AWS_SECRET_ACCESS_KEY: 'k',
      NODE_OPTIONS: '-r x',
    };
    const { hookEnvironment, hooksPath, home } = load(env);
    assert.deepEqual(hookEnvironment, { PATH: '/bin', LANG: 'C' });
    assert.equal(hooksPath, join(home, 'hooks.toml'));
  });

  it('never take an empty SVC_HOME for the current folder', () => {
    const { home: found } = loadSettings({}, { env: { SVC_HOME: '', SVC_NO_CONFIG: '1' } });
    assert.equal(found, join(homedir(), '.mnemesh'));
  });

  it('never take an empty SVC_CONFIG for a file', () => {
    assert.equal(load({ SVC_CONFIG: '' }).port, 9077);
  });
});

/** A file with the address of a database server. */
const URL_FILE = join(folder, 'url');
writeFileSync(URL_FILE, 'postgres://u:p@file/d\n', { mode: 0o600 });

/** For every variable a text and the value that it means. */
const VARIABLES: Readonly<Record<string, readonly (readonly [text: string, value: unknown])[]>> = {
  SVC_DB: [['/x/y.db', '/x/y.db']],
  SVC_STORE_URL: [['postgres://u:p@h/d', 'secret:postgres://u:p@h/d']],
  SVC_STORE_URL_FILE: [[URL_FILE, URL_FILE]],
  SVC_POSTGRES_STATEMENT_TIMEOUT_SECS: [['0', 0]],
  SVC_KEY_DIR: [['/x/keys', '/x/keys']],
  SVC_HOST: [
    ['::1', '::1'],
    ['0.0.0.0', '0.0.0.0'],
  ],
  SVC_PORT: [
    ['0', 0],
    ['65535', 65_535],
  ],
  SVC_API_KEY: [['a key', 'secret:a key']],
  SVC_REQUIRE_API_KEY: [['0', false]],
  SVC_REQUIRE_AGENT_ATTESTATION: [
    ['0', false],
    ['1', true],
    ['False', false],
    [' no ', false],
    ['OFF', false],
    ['on', true],
  ],
  SVC_AGENT_ID: [['ai:me', 'ai:me']],
  SVC_ADMIN_AGENT_IDS: [
    ['a', ['a']],
    [' a , b,,', ['a', 'b']],
  ],
  SVC_ADMIN_HEADER_TRUST: [
    ['1', true],
    ['TRUE', true],
    ['yes', true],
    ['no', false],
  ],
  SVC_HTTP_CORS_ORIGINS: [
    ['https://a.example, http://localhost:3000', ['https://a.example', 'http://localhost:3000']],
  ],
  SVC_EMBED_BACKEND: [
    ['none', 'none'],
    ['gemini', 'gemini'],
  ],
  SVC_NEAR_DUPLICATE: [['refuse', 'refuse']],
  SVC_EMBED_MODEL_FOLDER: [['/models/e5', '/models/e5']],
  SVC_MAX_PAGE_SIZE: [['5', 5]],
  SVC_MAX_INFLIGHT_REQUESTS: [['7', 7]],
  SVC_MAX_MEMORIES_PER_DAY: [['7', 7]],
  SVC_MAX_STORAGE_BYTES: [['7', 7]],
  SVC_MAX_LINKS_PER_DAY: [['7', 7]],
  SVC_MAX_REGISTRATIONS_PER_DAY: [['7', 7]],
  SVC_STORAGE_MAX_BYTES: [
    ['0', null],
    ['1000000', 1_000_000],
  ],
  SVC_OBSERVATIONS_TTL_DAYS: [['7', 7]],
  SVC_RECALL_TRACE: [['0', false]],
  SVC_AUTO_CONFIDENCE: [['1', true]],
  SVC_CONFIDENCE_DECAY: [['1', true]],
  SVC_CURATOR_ENABLED: [['1', true]],
  SVC_CURATOR_REFLECT: [['1', true]],
  SVC_CURATOR_INTERVAL_SECS: [['600', 600]],
  SVC_CURATOR_MAX_OPS: [['5', 5]],
  SVC_CONFIDENCE_SHADOW: [['on', true]],
  SVC_CONFIDENCE_SHADOW_SAMPLE_RATE: [
    ['0', 0],
    ['0.25', 0.25],
    ['1.0', 1],
  ],
  SVC_SCRUB_INTERVAL_DAYS: [
    ['1', 86_400_000],
    ['0', 0],
  ],
  SVC_PAYLOAD_RETENTION_DAYS: [['2', 172_800_000]],
  SVC_DB_SYNCHRONOUS: [['NORMAL', 'NORMAL']],
  SVC_LOG_LEVEL: [['debug', 'debug']],
  SVC_LOG_DIR: [['/x/logs', '/x/logs']],
  SVC_ANONYMIZE: [['1', true]],
  SVC_AUDIT_DIR: [['/x/audit', '/x/audit']],
  SVC_ENCRYPT_AT_REST: [['0', false]],
  // Every value is refused; see below.
  SVC_DB_PASSPHRASE: [],
  SVC_PROFILE: [
    ['full', 'full'],
    ['admin,graph', 'admin,graph'],
  ],
  SVC_EMBED_BASE_URL: [['http://127.0.0.1:1/x', 'http://127.0.0.1:1/x']],
  SVC_EMBED_MODEL: [['some/model:1', 'some/model:1']],
  SVC_EMBED_API_KEY: [['e', 'secret:e']],
  SVC_EMBED_BACKFILL_BATCH: [['10000', 10_000]],
  SVC_LLM_BACKEND: [['local-native', 'local-native']],
  SVC_LLM_BASE_URL: [['https://llm.example', 'https://llm.example']],
  SVC_AUTONOMOUS_HOOKS: [['1', true]],
  SVC_LLM_MODEL: [['m', 'm']],
  SVC_LLM_API_KEY: [['l', 'secret:l']],
  SVC_LLM_MAX_CALLS_PER_DAY: [['0', 0]],
  SVC_BOOT_ENABLED: [['0', false]],
  SVC_CAPTURE_NAG_THRESHOLD: [['0', 0]],
  SVC_CAPTURE_NAG_ESCALATE_THRESHOLD: [['9', 9]],
  SVC_L4_HOST_PUBKEY_ALLOWLIST: [
    ['KqKa8CTxQoxOLDpF4looz/WC3FJIG8C3KUiior92lFo=', ['KqKa8CTxQoxOLDpF4looz/WC3FJIG8C3KUiior92lFo=']],
  ],
  SVC_FED_REQUIRE_SIG: [['0', false]],
  SVC_FED_REQUIRE_NONCE: [['0', false]],
  SVC_FED_DLQ_REPLAY_MAX_BATCH: [['64', 64]],
  SVC_FED_PEER_ATTESTATION: [['{"peer-a":{}}', '{"peer-a":{}}']],
  SVC_FED_PEER_FINGERPRINTS: [['/pem/pins', '/pem/pins']],
  SVC_FED_SYNC_TRUST_PEER: [['1', true]],
  SVC_FED_TRUST_BODY_AGENT_ID: [['1', true]],
  SVC_FED_CERT_PEER_BINDING: [['enforce', 'enforce']],
  SVC_ALLOW_LOOPBACK_WEBHOOKS: [['1', true]],
  SVC_SSRF_GUARD_ALLOW_DNS_FAIL: [['1', true]],
  SVC_WEBHOOK_DISPATCH_CONCURRENCY: [['4096', 4096]],
  SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR: [['1', true]],
  SVC_PERMISSIONS_MODE: [['advisory', 'advisory']],
  SVC_SECRETS: [['warn', 'warn']],
  SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS: [['1', true]],
  SVC_SKILLS_IMPORT_ROOT: [['/in', '/in']],
  SVC_SKILLS_EXPORT_ROOT: [['/out', '/out']],
  SVC_RERANK_ENABLED: [['1', true]],
  SVC_RERANK_BASE_URL: [['http://127.0.0.1:3', 'http://127.0.0.1:3']],
  SVC_RERANK_MODEL: [['cross', 'cross']],
  SVC_RERANK_API_KEY: [['a key', 'secret:a key']],
  SVC_RERANK_TIMEOUT_MS: [['500', 500]],
  SVC_OTLP_ENDPOINT: [['http://127.0.0.1:4318', 'http://127.0.0.1:4318']],
  SVC_OTLP_HEADERS: [['a=b', 'secret:a=b']],
  SVC_OPERATOR_PUBKEY: [['A'.repeat(43), 'A'.repeat(43)]],
};

describe('the environment', () => {
  it('is known to this test, every variable', () => {
    const known = SETTINGS.flatMap((row) => row.env ?? []).filter((name) => name !== 'SVC_HOME');
    assert.deepEqual(Object.keys(VARIABLES).sort(), known.sort());
  });

  for (const [name, cases] of Object.entries(VARIABLES)) {
    const { key } = SETTINGS.find((row) => row.env === name)!;
    for (const [text, value] of cases) {
      it(`sets ${key} by ${name}=${JSON.stringify(text)}`, () => {
        assert.deepEqual(plain(load({ [name]: text })[key]), value);
      });
    }
  }

  it('refuses what is no boolean or integer, by the name of the variable and without its value', () => {
    for (const row of SETTINGS) {
      if (row.type !== 'boolean' && row.type !== 'integer') continue;
      if (row.env === undefined) continue;
      for (const text of ['maybe', '1.5', '0x10', '1e3', '2 ', 'tru', '12345678901234567890']) {
        const message = refusal(() => load({ [row.env!]: text }));
        assert.ok(message.includes(row.env), message);
        assert.ok(!message.includes(text), message);
      }
    }
  });

  it('refuses what is no number within its bounds, likewise', () => {
    const name = 'SVC_CONFIDENCE_SHADOW_SAMPLE_RATE';
    for (const text of ['half', '-0.5', '1.01', '1e-1', '.5', 'NaN', '2']) {
      const message = refusal(() => load({ [name]: text }));
      assert.ok(message.includes(name) && !message.includes(text), message);
    }
  });
});

describe('encryption of the database', () => {
  const passphrase = (mode: number): string => {
    const path = join(home(), 'passphrase');
    writeFileSync(path, 'correct horse\n');
    chmodSync(path, mode);
    return path;
  };

  it('is refused by every setting that asks for it, without the passphrase', () => {
    for (const [env, flags] of [
      [{ SVC_ENCRYPT_AT_REST: '1' }, {}],
      [{ SVC_DB_PASSPHRASE: 'correct horse' }, {}],
      [{}, { dbPassphraseFile: passphrase(0o600) }],
      [{}, { dbPassphraseFile: passphrase(0o400) }],
      [{ SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS: '1' }, { dbPassphraseFile: passphrase(0o644) }],
    ] as const) {
      const message = refusal(() => load(env, undefined, flags));
      assert.match(
        message,
        /^(SVC_ENCRYPT_AT_REST|SVC_DB_PASSPHRASE|\S*db-?passphrase-?file) .*has no cipher/i,
      );
      assert.ok(!message.includes('horse'), message);
    }
  });

  it('is refused first for a passphrase file that the group or others may read', () => {
    for (const mode of [0o640, 0o604, 0o660]) {
      const flags = { dbPassphraseFile: passphrase(mode) };
      assert.match(
        refusal(() => load({}, undefined, flags)),
        /passphrase file .* is refused/,
      );
    }
    assert.match(
      refusal(() => load({}, undefined, { dbPassphraseFile: '/not/there' })),
      /passphrase file \/not\/there does not exist/,
    );
  });
});

describe('the configuration file', () => {
  const TOML = `
    db = "/file/x.db"
    store_url = "postgres://u:p@file/d"
    postgres_statement_timeout_secs = 7
    api_key = "file key"
    request_timeout_secs = 5
    llm_call_timeout_secs = 7
    autonomous_hooks = true
    [admin]
    agent_ids = ["ai:file", "ai:two"]
    [skills]
    import_root = "/file/in"
    export_root = "/file/out"
    [http]
    host = "127.0.0.2"
    port = 9199
    cors_origins = ["https://a.example"]
    [embeddings]
    backend = "none"
    url = "http://127.0.0.1:4"
    base_url = "http://127.0.0.1:3"
    model = "vectors"
    dim = 8
    backfill_batch = 9
    model_folder = "/models/e5"
    [memory]
    near_duplicate = "off"
    [recall]
    trace = false
    [verify]
    require_nonce = true
    [storage]
    archive_max_days = 30
    max_memory_mb = 12
    max_bytes = 5000000
    observations_ttl_days = 3
    scrub_interval_days = 2
    payload_retention_days = 30
    archive_on_gc = false
    default_namespace = "team"
    [limits]
    max_page_size = 50
    max_inflight_requests = 9
    max_memories_per_day = 10
    max_storage_bytes = 11
    max_links_per_day = 12
    max_registrations_per_day = 13
    [logging]
    level = "error"
    enabled = true
    path = "/file/logs"
    filename_prefix = "node.log"
    rotation = "hourly"
    max_size_mb = 2
    max_files = 3
    retention_days = 4
    structured = true
    [telemetry]
    otlp_endpoint = "http://127.0.0.1:4"
    otlp_traces = false
    otlp_trace_ratio = 0.5
    otlp_metrics = false
    otlp_metrics_interval_secs = 7
    [identity]
    anonymize_default = true
    [audit]
    enabled = true
    path = "/file/audit"
    redact_content = false
    hash_chain = false
    attestation_cadence_minutes = 5
    append_only = false
    retention_days = 6
    [audit.compliance.gdpr]
    applied = true
    pseudonymize_actors = true
    [mcp]
    profile = "full"
    profile_hint_in_errors = true
    federation_forward_url = "https://other.example:9077"
    [mcp.allowlist]
    "ai:ann" = ["full"]
    "ai:" = ["graph", "core"]
    "*" = []
    [ttl]
    short_ttl_secs = 60
    mid_ttl_secs = 0
    long_ttl_secs = 999999999999
    short_extend_secs = -1
    mid_extend_secs = 7
    [llm]
    backend = "compatible"
    model = "chat"
    max_calls_per_day = 44
    base_url = "http://127.0.0.1:1"
    [llm.auto_tag]
    backend = "none"
    model = "small"
    base_url = "http://127.0.0.1:2"
    [reranker]
    enabled = true
    model = "cross"
    base_url = "http://127.0.0.1:3"
    timeout_ms = 77
    [curator]
    enabled = true
    reflect = true
    interval_secs = 120
    max_ops = 7
    include_namespaces = ["team/**"]
    exclude_namespaces = ["team/secret"]
    [confidence]
    auto = true
    decay = true
    shadow = true
    shadow_sample_rate = 0.5
    shadow_retention_days = 0
    [scoring]
    half_life_days_short = 3
    half_life_days_mid = 14
    half_life_days_long = 0.5
    legacy_scoring = true
    [coordination]
    signal_days = 8
    action_kept_days = 9
    [transcripts]
    default_ttl_secs = 100
    archive_grace_secs = 50
    max_decompressed_bytes = 2048
    [transcripts.namespaces."team/*"]
    default_ttl_secs = 7
    [boot]
    enabled = false
    redact_titles = true
    [agents.defaults.recall_scope]
    namespaces = ["a/b", "c"]
    since = "24h"
    tier = "mid"
    limit = 5
    [subscriptions]
    allow_loopback_webhooks = true
    [tls]
    cert = "/pem/cert"
    key = "/pem/key"
    mtls_allowlist = "/pem/list"
    [quorum]
    writes = 2
    peers = ["https://b.example:1"]
    timeout_ms = 7000
    client_cert = "/pem/client"
    client_key = "/pem/client-key"
    ca_cert = "/pem/ca"
    catchup_interval_secs = 9
    peer_fingerprints = "/pem/pins"
    hints = false
    [hooks]
    ask_timeout_ms = 5000
    [hooks.subscription]
    hmac_secret = "00ff00ff00ff00ff00ff00ff00ff00ff"
    [permissions]
    mode = "off"
    [[permissions.rules]]
    namespace_pattern = "team/**"
    op = "memory_store"
    decision = "deny"
    reason = "no"
    [secrets]
    mode = "refuse"
    [[secrets.namespaces]]
    namespace_pattern = "vault/**"
    mode = "off"
    [governance]
    operator_pubkey = "${'A'.repeat(43)}"
    require_operator_pubkey = true
  `;
  const FROM_FILE: Readonly<Record<string, unknown>> = {
    requestTimeoutMs: 5000,
    skillsImportRoot: '/file/in',
    skillsExportRoot: '/file/out',
    archiveMaxDays: 30,
    maxMemoryMb: 12,
    shortTtlSeconds: 60,
    midTtlSeconds: null,
    longTtlSeconds: 315_360_000,
    shortExtendSeconds: null,
    midExtendSeconds: 7,
    embedBaseUrl: 'http://127.0.0.1:3',
    embedModel: 'vectors',
    embedDim: 8,
    embedModelFolder: '/models/e5',
    embedBackfillBatch: 9,
    llmBackend: 'compatible',
    llmModel: 'chat',
    llmBaseUrl: 'http://127.0.0.1:1',
    autoTagBackend: 'none',
    autoTagModel: 'small',
    autoTagBaseUrl: 'http://127.0.0.1:2',
    llmCallTimeoutMs: 7000,
    autonomousHooks: true,
    llmCallsPerDay: 44,
    otlpEndpoint: 'http://127.0.0.1:4',
    otlpTraces: false,
    otlpTraceRatio: 0.5,
    otlpMetrics: false,
    otlpMetricsIntervalMs: 7000,
    rerankerEnabled: true,
    rerankerModel: 'cross',
    rerankerBaseUrl: 'http://127.0.0.1:3',
    rerankerTimeoutMs: 77,
    bootEnabled: false,
    bootRedactTitles: true,
    recallScopeNamespaces: ['a/b', 'c'],
    recallScopeSince: '24h',
    recallScopeTier: 'mid',
    tlsCert: '/pem/cert',
    tlsKey: '/pem/key',
    mtlsAllowlist: '/pem/list',
    quorumWrites: 2,
    quorumPeers: ['https://b.example:1'],
    quorumTimeoutMs: 7000,
    quorumClientCert: '/pem/client',
    quorumClientKey: '/pem/client-key',
    quorumCaCert: '/pem/ca',
    catchupIntervalMs: 9000,
    fedPeerFingerprints: '/pem/pins',
    meshHints: false,
    scrubIntervalMs: 172_800_000,
    payloadKeptMs: 2_592_000_000,
    autoConfidence: true,
    confidenceDecay: true,
    curatorEnabled: true,
    curatorReflects: true,
    curatorIntervalSeconds: 120,
    curatorOps: 7,
    curatorInclude: ['team/**'],
    curatorExclude: ['team/secret'],
    confidenceShadow: true,
    confidenceShadowSampleRate: 0.5,
    confidenceShadowDays: null,
    halfLifeShort: 3,
    halfLifeMid: 14,
    halfLifeLong: 0.5,
    legacyScoring: true,
    recallScopeLimit: 5,
    allowLoopbackWebhooks: true,
    hookAskTimeoutMs: 5000,
    webhookHmacSecret: 'secret:00ff00ff00ff00ff00ff00ff00ff00ff',
    permissionsMode: 'off',
    secretsMode: 'refuse',
    secretsNamespaces: [{ namespacePattern: 'vault/**', mode: 'off' }],
    signalDays: 8,
    actionKeptDays: 9,
    transcriptTtlSeconds: 100,
    transcriptGraceSeconds: 50,
    transcriptDecompressedMax: 2048,
    transcriptNamespaces: [{ pattern: 'team/*', ttlSeconds: 7, graceSeconds: null }],
    permissionRules: [
      { namespacePattern: 'team/**', op: 'memory_store', agentPattern: '**', decision: 'deny', reason: 'no' },
    ],
    dbPath: '/file/x.db',
    storeUrl: 'secret:postgres://u:p@file/d',
    postgresStatementTimeoutMs: 7000,
    apiKey: 'secret:file key',
    adminAgentIds: ['ai:file', 'ai:two'],
    corsOrigins: ['https://a.example'],
    host: '127.0.0.2',
    port: 9199,
    embedBackend: 'none',
    nearDuplicate: 'off',
    requireVerifyNonce: true,
    archiveOnGc: false,
    defaultNamespace: 'team',
    pageSizeMax: 50,
    maxInflightRequests: 9,
    maxMemoriesPerDay: 10,
    maxStorageBytes: 11,
    maxLinksPerDay: 12,
    maxRegistrationsPerDay: 13,
    observationsTtlDays: 3,
    recallTrace: false,
    storageMaxBytes: 5_000_000,
    logLevel: 'error',
    logToFiles: true,
    logDir: '/file/logs',
    logFileName: 'node.log',
    logRotation: 'hourly',
    logFileBytesMax: 2 * 1024 * 1024,
    logFilesMax: 3,
    logRetentionDays: 4,
    logStructured: true,
    anonymize: true,
    auditLog: true,
    auditDir: '/file/audit',
    auditRedacts: false,
    auditHashChain: false,
    auditAttestMinutes: 5,
    auditAppendOnly: false,
    auditRetentionDays: 6,
    auditPresets: [
      {
        ...{ preset: 'gdpr', applied: true, retentionDays: null, redacts: false, attestMinutes: null },
        ...{ encryptsAtRest: false, pseudonymizes: true },
      },
    ],
    profile: 'full',
    profileHints: true,
    mcpForwardUrl: 'https://other.example:9077',
    toolAllowlist: [
      { agent: 'ai:ann', families: [...FAMILIES] },
      { agent: 'ai:', families: ['core', 'graph'] },
      { agent: '*', families: [] },
    ],
    operatorPubkey: 'A'.repeat(43),
    requireOperatorPubkey: true,
  };

  it('is known to this test, every key', () => {
    const known = SETTINGS.filter((row) => row.config !== undefined).map((row) => row.key);
    assert.deepEqual(Object.keys(FROM_FILE).sort(), known.sort());
  });

  it('goes before the defaults, field by field', () => {
    const settings = load({}, TOML);
    for (const [key, value] of Object.entries(FROM_FILE)) {
      assert.deepEqual(plain(settings[key as keyof Settings]), value, key);
    }
    assert.equal(settings.requireAttestation, true);
  });

  it('goes behind the environment, and that behind the flags, field by field', () => {
    const env = { SVC_LOG_LEVEL: 'debug', SVC_MAX_PAGE_SIZE: '60', SVC_API_KEY: 'env key' };
    const settings = load(env, TOML, { logLevel: 'silent', archiveOnGc: true });
    assert.equal(settings.logLevel, 'silent', 'flag over environment over file');
    assert.equal(settings.archiveOnGc, true, 'flag over file');
    assert.equal(settings.pageSizeMax, 60, 'environment over file');
    assert.equal(settings.apiKey?.reveal(), 'env key');
    assert.equal(settings.maxInflightRequests, 9, 'file over default');
  });

  it('adds its admins to those of the variable, each once, and a flag replaces both', () => {
    const env = { SVC_ADMIN_AGENT_IDS: 'ai:env, ai:two' };
    assert.deepEqual(load(env, TOML).adminAgentIds, ['ai:env', 'ai:two', 'ai:file']);
    assert.deepEqual(load(env).adminAgentIds, ['ai:env', 'ai:two']);
    assert.deepEqual(load(env, TOML, { adminAgentIds: ['ai:flag'] }).adminAgentIds, ['ai:flag']);
    assert.deepEqual(load({ SVC_HTTP_CORS_ORIGINS: 'https://b.example' }, TOML).corsOrigins, [
      'https://b.example',
    ]);
  });

  it('makes a mid row live as long after a use as after its store, unless it says otherwise', () => {
    const days = (count: number) => count * 86_400;
    const lives = (toml: string) => {
      const settings = load({}, toml);
      return [ttlSecondsOf(settings).mid, lifePolicyOf(settings).extendSeconds.mid];
    };
    assert.deepEqual(lives(''), [days(90), days(90)]);
    assert.deepEqual(lives('[ttl]\nmid_ttl_secs = 864000'), [days(10), days(10)]);
    assert.deepEqual(lives('[ttl]\nmid_extend_secs = 60'), [days(90), 60]);
    assert.deepEqual(lives('[ttl]\nmid_extend_secs = 0'), [days(90), null]);
    assert.deepEqual(lives('[ttl]\nmid_ttl_secs = 0'), [null, null]);
  });

  it('is found by --config, then SVC_CONFIG, then in the home', () => {
    const [flag, env] = ['flag', 'env'].map((name) => {
      const path = join(home(), `${name}.toml`);
      writeFileSync(path, `[storage]\ndefault_namespace = "${name}"`);
      return path;
    });
    const at = home('[storage]\ndefault_namespace = "home"');
    const namespaceOf = (sources: Parameters<typeof loadSettings>[1]) =>
      loadSettings({ home: at }, sources).defaultNamespace;
    assert.equal(namespaceOf({ env: { SVC_CONFIG: env }, configPath: flag }), 'flag');
    assert.equal(namespaceOf({ env: { SVC_CONFIG: env } }), 'env');
    assert.equal(namespaceOf({ env: {} }), 'home');
    assert.equal(namespaceOf({ env: { SVC_NO_CONFIG: '1' } }), 'global');
  });

  it('must exist when it is named', () => {
    const missing = join(folder, 'missing.toml');
    for (const sources of [{ env: {}, configPath: missing }, { env: { SVC_CONFIG: missing } }]) {
      const message = refusal(() => loadSettings({ home: home() }, sources));
      assert.ok(message.includes(missing) && message.includes('ENOENT'), message);
    }
    assert.match(
      refusal(() => load({ SVC_CONFIG: folder })),
      /EISDIR/,
    );
  });

  it('that is no TOML is refused by its position, never quoting the line', () => {
    for (const line of [
      'api_key = "secret-1234',
      'api_key = secret-1234',
      'api_key = "secret-1234" trailing',
      'api_key "secret-1234"',
      'api_key = "secret-1234"\napi_key = "secret-1234"',
    ]) {
      const message = refusal(() => load({}, `# a comment\n${line}\n`));
      assert.ok(!message.includes('secret'), message);
      assert.match(message, /not valid TOML \(line [23], column \d+\)/);
    }
  });

  it('with a value of another type is refused by the name of the key, never quoting the value', () => {
    for (const toml of [
      'api_key = ["secret-1234"]',
      'db = 7',
      'admin.agent_ids = "secret-1234"',
      'admin.agent_ids = ["a", 7]',
      'storage.archive_on_gc = "secret-1234"',
      'limits.max_page_size = "secret-1234"',
      'limits.max_page_size = 1.5',
    ]) {
      const message = refusal(() => load({}, toml));
      assert.ok(message.includes(toml.split(' ')[0]!), message);
      assert.ok(!message.includes('secret-1234'), message);
    }
  });

  it('may hold keys that this release does not know', () => {
    assert.equal(load({}, 'schema_version = 2\n[llm]\nmodel = "x"\n[limits]\nother = 1').pageSizeMax, 1000);
  });
});

describe('the key of a vendor', () => {
  const keyOf = (env: Env, toml?: string) => load(env, toml).embedApiKey?.reveal() ?? null;
  it('comes from its own variable, after SVC_EMBED_API_KEY and before the section', () => {
    const toml = 'schema_version = 2\n[embeddings]\napi_key_env = "SECTION_KEY"';
    const env = { SVC_EMBED_BACKEND: 'openai', OPENAI_API_KEY: 'vendor', SECTION_KEY: 'section' };
    assert.equal(keyOf(env, toml), 'vendor');
    assert.equal(keyOf({ ...env, SVC_EMBED_API_KEY: 'own' }, toml), 'own');
    assert.equal(keyOf({ ...env, OPENAI_API_KEY: '' }, toml), 'section');
  });

  it('is read for that vendor only', () => {
    assert.equal(keyOf({ SVC_EMBED_BACKEND: 'mistral', OPENAI_API_KEY: 'vendor' }), null);
    assert.equal(keyOf({ OPENAI_API_KEY: 'vendor' }), null);
  });

  it('belongs to one of eighteen names, which embedders and chat models share', () => {
    assert.equal(MODEL_ALIASES.length, 18);
    for (const name of MODEL_ALIASES) {
      assert.equal(load({ SVC_EMBED_BACKEND: name }).embedBackend, name);
      assert.equal(load({ SVC_LLM_BACKEND: name }).llmBackend, name);
    }
  });

  it('of a chat model comes from the first variable of its vendor that is set', () => {
    const chatKey = (env: Env, toml?: string) => load(env, toml).llmApiKey?.reveal() ?? null;
    const toml = 'schema_version = 2\n[llm]\napi_key_env = "SECTION_KEY"';
    const env = { SVC_LLM_BACKEND: 'gemini', GOOGLE_API_KEY: 'second', SECTION_KEY: 'section' };
    assert.equal(chatKey(env, toml), 'second');
    assert.equal(chatKey({ ...env, GEMINI_API_KEY: 'first' }, toml), 'first');
    assert.equal(chatKey({ ...env, GEMINI_API_KEY: 'first', SVC_LLM_API_KEY: 'own' }, toml), 'own');
    assert.equal(chatKey({ ...env, GOOGLE_API_KEY: '' }, toml), 'section');
  });

  it('of the model for tags is that of its own vendor', () => {
    const toml = 'schema_version = 2\n[llm.auto_tag]\nbackend = "mistral"\napi_key_env = "SECTION_KEY"';
    const env = { SVC_LLM_BACKEND: 'openai', OPENAI_API_KEY: 'main', SECTION_KEY: 'section' };
    assert.equal(load(env, toml).autoTagApiKey?.reveal(), 'section');
    assert.equal(load({ ...env, MISTRAL_API_KEY: 'small' }, toml).autoTagApiKey?.reveal(), 'small');
  });
});

describe('a setting', () => {
  it('outside its range or list is refused', () => {
    const cases: readonly (readonly [Env, Partial<Settings>, RegExp])[] = [
      [{ SVC_DB_SYNCHRONOUS: 'full' }, {}, /SVC_DB_SYNCHRONOUS/],
      [{ SVC_PROFILE: 'all' }, {}, /SVC_PROFILE/],
      [{ SVC_EMBED_BACKEND: 'magic' }, {}, /SVC_EMBED_BACKEND/],
      [{ SVC_LOG_LEVEL: 'loud' }, {}, /SVC_LOG_LEVEL/],
      [{ SVC_EMBED_BACKFILL_BATCH: '0' }, {}, /SVC_EMBED_BACKFILL_BATCH must be between 1 and 10000/],
      [{ SVC_FED_DLQ_REPLAY_MAX_BATCH: '63' }, {}, /SVC_FED_DLQ_REPLAY_MAX_BATCH/],
      [{ SVC_MAX_MEMORIES_PER_DAY: '-1' }, {}, /SVC_MAX_MEMORIES_PER_DAY/],
      [{ SVC_LLM_BACKEND: 'magic' }, {}, /SVC_LLM_BACKEND/],
      [{ SVC_EMBED_BACKEND: 'compatible' }, {}, /embeddings\.base_url/],
      [{ SVC_LLM_BASE_URL: 'ftp://x' }, {}, /SVC_LLM_BASE_URL must be an http or https URL/],
      [{ SVC_LLM_BASE_URL: 'http://me:pw-1234@x' }, {}, /must not hold a user or a password;/],
      [{ SVC_MAX_PAGE_SIZE: '0' }, {}, /SVC_MAX_PAGE_SIZE/],
      [{ SVC_MAX_PAGE_SIZE: '100001' }, {}, /SVC_MAX_PAGE_SIZE/],
      [{ SVC_MAX_INFLIGHT_REQUESTS: '-1' }, {}, /SVC_MAX_INFLIGHT_REQUESTS/],
      [{}, { port: 65_536 }, /port/],
      [{}, { port: -1 }, /port/],
      [{}, { port: Number.NaN }, /port/],
    ];
    for (const [env, flags, name] of cases)
      assert.match(
        refusal(() => load(env, undefined, flags)),
        name,
      );
    assert.equal(load({ SVC_MAX_PAGE_SIZE: '100000' }, undefined, { port: 65_535 }).port, 65_535);
  });

  it('SVC_REQUIRE_API_KEY refuses to go on without a key, wherever the key may come from', () => {
    const env = { SVC_REQUIRE_API_KEY: '1' };
    assert.match(
      refusal(() => load(env)),
      /SVC_REQUIRE_API_KEY/,
    );
    for (const settings of [
      load({ ...env, SVC_API_KEY: 'k' }),
      load(env, 'api_key = "k"'),
      load(env, undefined, { apiKey: 'k' }),
    ]) {
      assert.equal(settings.apiKey?.reveal(), 'k');
    }
  });

  it('SVC_REQUIRE_API_KEY is not content with an empty key', () => {
    assert.match(
      refusal(() => load({ SVC_REQUIRE_API_KEY: '1' }, 'api_key = ""')),
      /SVC_REQUIRE_API_KEY/,
    );
  });

  it('SVC_REQUIRE_AGENT_ATTESTATION counts as required by name only when it is set', () => {
    const everywhere = (env: Record<string, string>) => load(env).requireAttestationEverywhere;
    assert.deepEqual(
      [{}, { SVC_REQUIRE_AGENT_ATTESTATION: '1' }, { SVC_REQUIRE_AGENT_ATTESTATION: '0' }].map(everywhere),
      [false, true, false],
    );
  });

  it('of admins drops wildcards, from the environment and the file', () => {
    assert.deepEqual(load({ SVC_ADMIN_AGENT_IDS: '*,ai:a,ai:*,b*c' }).adminAgentIds, ['ai:a']);
    assert.deepEqual(load({}, 'admin.agent_ids = ["*", "ai:b"]').adminAgentIds, ['ai:b']);
    assert.deepEqual(load({ SVC_ADMIN_AGENT_IDS: '*' }).adminAgentIds, []);
    assert.deepEqual(load({ SVC_ADMIN_AGENT_IDS: 'ai:a,daemon,*,a b' }).adminAgentIds, ['ai:a']);
  });

  it('of other sites are whole origins', () => {
    for (const origin of ['*', 'example.com', 'https://a.example/', 'https://A.example', 'null', 'file://']) {
      assert.match(
        refusal(() => load({ SVC_HTTP_CORS_ORIGINS: origin })),
        /SVC_HTTP_CORS_ORIGINS/,
        origin,
      );
    }
  });
});
