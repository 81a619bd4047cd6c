/**
 * The settings of a node, one row each: name, default, environment variable, configuration key, a line for the docs,
 * and whether its value is secret (interface §2.12, decisions "Names and places").
 */
import { namespaceProblem } from '../../protocol/ids.js';
import * as limits from '../../protocol/limits.js';
import type { Tier } from '../../protocol/memory.js';
import { LATER_ROWS } from './rows-later.js';
import { LIFE_ROWS } from './rows-life.js';
import { MESH_ROWS } from './rows-mesh.js';
import { MODEL_ROWS } from './rows-models.js';
import type { Secret } from './secret.js';

export interface SettingRow {
  readonly key: keyof Settings;
  /** Command-line flag of `serve` or of every command. */
  readonly flag?: string;
  /** Environment variable. */
  readonly env?: string;
  /** Dotted key in the configuration file. */
  readonly config?: string;
  /** Another key for the same, which counts where the first is absent. */
  readonly configAlias?: string;
  /** Top-level field of the flat files of before schema version 2. */
  readonly legacy?: string;
  /** For a secret: the section whose `api_key_env` or `api_key_file` says where the key is. */
  readonly secretSection?: string;
  readonly type: 'text' | 'integer' | 'boolean' | 'list' | 'secret';
  /** Unit of what the operator writes. */
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** What is wrong with a value, without quoting it; null for a good one. */
  readonly check?: (value: string) => string | null;
  /** From what the operator writes to what the program holds. */
  readonly convert?: (value: number) => number | null;
  /** What holds where nothing is configured, as the documentation says it; the value itself unless given. */
  readonly defaultDoc?: string;
  readonly doc: string;
}

export interface Settings {
  readonly home: string;
  readonly dbPath: string;
  readonly keyDir: string;
  readonly host: string;
  readonly port: number;
  readonly apiKey: Secret | null;
  readonly requireApiKey: boolean;
  readonly requireAttestation: boolean;
  /** The operator required it by name, so routes that have no signature refuse as well (decisions, "which routes"). */
  readonly requireAttestationEverywhere: boolean;
  readonly agentId: string | null;
  readonly adminAgentIds: readonly string[];
  readonly adminHeaderTrust: boolean;
  /** Origins whose pages may use the HTTP API. */
  readonly corsOrigins: readonly string[];
  readonly embedBackend: string;
  readonly archiveOnGc: boolean;
  readonly defaultNamespace: string;
  readonly pageSizeMax: number;
  /** Quotas of one agent in one namespace. */
  readonly maxMemoriesPerDay: number;
  readonly maxStorageBytes: number;
  readonly maxLinksPerDay: number;
  /** Requests admitted at a time; 0 admits all. */
  readonly maxInflightRequests: number;
  readonly requestTimeoutMs: number;
  readonly shutdownGraceMs: number;
  readonly synchronous: 'FULL' | 'NORMAL' | 'OFF';
  readonly logLevel: string;
  readonly profile: 'core' | 'full';

  readonly embedBaseUrl: string | null;
  readonly embedModel: string | null;
  readonly embedDim: number | null;
  readonly embedApiKey: Secret | null;
  /** Rows that the background embedding takes at a time. */
  readonly embedBackfillBatch: number;
  readonly llmBackend: string | null;
  readonly llmBaseUrl: string | null;
  readonly llmModel: string | null;
  readonly llmApiKey: Secret | null;
  readonly autoTagBackend: string | null;
  readonly autoTagBaseUrl: string | null;
  readonly autoTagModel: string | null;
  readonly autoTagApiKey: Secret | null;
  readonly rerankerEnabled: boolean;
  readonly rerankerModel: string | null;

  /** Null: the archive is never purged by age. */
  readonly archiveMaxDays: number | null;
  readonly maxMemoryMb: number | null;
  /** Time to live by tier; null means for ever. */
  readonly shortTtlSeconds: number | null;
  readonly midTtlSeconds: number | null;
  readonly longTtlSeconds: number | null;
  /** A touch moves the expiry at least this far from now; null means never. */
  readonly shortExtendSeconds: number | null;
  readonly midExtendSeconds: number | null;

  readonly bootEnabled: boolean;
  readonly bootRedactTitles: boolean;
  /** What `session_default` adds to a recall. */
  readonly recallScopeNamespaces: readonly string[];
  readonly recallScopeSince: string | null;
  readonly recallScopeTier: Tier | null;
  readonly recallScopeLimit: number | null;

  readonly fedRequireSig: boolean;
  readonly fedRequireNonce: boolean;
  readonly fedDlqReplayMaxBatch: number;
  /** JSON of `peer-scopes.ts`; null where no peers are listed. */
  readonly fedPeerAttestation: string | null;
  readonly fedSyncTrustPeer: boolean;
  readonly fedTrustBodyAgentId: boolean;
  readonly fedCertPeerBinding: 'warn' | 'enforce';
  /** Paths of PEM files. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly mtlsAllowlist: string | null;
  /** Nodes that must have a write, this one included; 0 waits for nobody. */
  readonly quorumWrites: number;
  readonly quorumPeers: readonly string[];
  readonly quorumTimeoutMs: number;
  readonly quorumClientCert: string | null;
  readonly quorumClientKey: string | null;
  readonly quorumCaCert: string | null;
  /** 0 never asks peers for what was missed. */
  readonly catchupIntervalMs: number;
  readonly scrubIntervalMs: number;
  readonly payloadKeptMs: number;
  readonly fedPeerFingerprints: string | null;
  /** Peers are told that there is something new. */
  readonly meshHints: boolean;
  readonly allowLoopbackWebhooks: boolean;
  readonly webhookHmacSecret: Secret | null;
  readonly ssrfGuardAllowDnsFail: boolean;
  readonly governanceFailOpenOnError: boolean;
  readonly passphraseFileAllowLaxPerms: boolean;
  /** Days that the ledger of recalls is kept; 0 keeps none. */
  readonly observationsTtlDays: number;
}

/** What holds when nothing is configured; paths depend on the home and are filled in by the loader. */
export const DEFAULTS: Omit<Settings, 'home' | 'dbPath' | 'keyDir'> = {
  host: '127.0.0.1',
  port: 9077,
  apiKey: null,
  requireApiKey: false,
  requireAttestation: true,
  requireAttestationEverywhere: false,
  agentId: null,
  adminAgentIds: [],
  adminHeaderTrust: false,
  corsOrigins: [],
  embedBackend: 'builtin',
  archiveOnGc: true,
  defaultNamespace: 'global',
  pageSizeMax: limits.PAGE_SIZE_MAX,
  maxMemoriesPerDay: limits.MEMORIES_PER_DAY_MAX,
  maxStorageBytes: limits.STORAGE_BYTES_MAX,
  maxLinksPerDay: limits.LINKS_PER_DAY_MAX,
  maxInflightRequests: 0,
  requestTimeoutMs: limits.REQUEST_DEADLINE_MS,
  shutdownGraceMs: limits.SHUTDOWN_GRACE_MS,
  synchronous: 'FULL',
  logLevel: 'info',
  profile: 'core',

  embedBaseUrl: null,
  embedModel: null,
  embedDim: null,
  embedApiKey: null,
  embedBackfillBatch: limits.EMBED_BATCH_MAX,
  llmBackend: null,
  llmBaseUrl: null,
  llmModel: null,
  llmApiKey: null,
  autoTagBackend: null,
  autoTagBaseUrl: null,
  autoTagModel: null,
  autoTagApiKey: null,
  rerankerEnabled: false,
  rerankerModel: null,

  archiveMaxDays: null,
  maxMemoryMb: null,
  shortTtlSeconds: limits.TTL_SECONDS.short,
  midTtlSeconds: limits.TTL_SECONDS.mid,
  longTtlSeconds: limits.TTL_SECONDS.long,
  shortExtendSeconds: limits.EXTEND_SECONDS.short,
  midExtendSeconds: limits.EXTEND_SECONDS.mid,

  bootEnabled: true,
  bootRedactTitles: false,
  observationsTtlDays: limits.OBSERVATIONS_TTL_DAYS,
  recallScopeNamespaces: [],
  recallScopeSince: null,
  recallScopeTier: null,
  recallScopeLimit: null,

  fedRequireSig: true,
  fedRequireNonce: true,
  fedDlqReplayMaxBatch: limits.DLQ_REPLAY_BATCH_MAX,
  fedPeerAttestation: null,
  fedSyncTrustPeer: false,
  fedTrustBodyAgentId: false,
  fedCertPeerBinding: 'warn',
  tlsCert: null,
  tlsKey: null,
  mtlsAllowlist: null,
  quorumWrites: 0,
  quorumPeers: [],
  quorumTimeoutMs: limits.QUORUM_TIMEOUT_MS,
  quorumClientCert: null,
  quorumClientKey: null,
  quorumCaCert: null,
  catchupIntervalMs: limits.CATCHUP_INTERVAL_SECONDS * 1000,
  payloadKeptMs: limits.PAYLOAD_KEPT_DAYS * 86_400_000,
  scrubIntervalMs: limits.SCRUB_INTERVAL_DAYS * 86_400_000,
  fedPeerFingerprints: null,
  meshHints: true,
  allowLoopbackWebhooks: false,
  webhookHmacSecret: null,
  ssrfGuardAllowDnsFail: false,
  governanceFailOpenOnError: false,
  passphraseFileAllowLaxPerms: false,
};

/** Selectors of the embedder (interface §2.12, "Backends"). */
export const EMBED_BACKENDS = ['builtin', 'none', 'local-native', 'compatible'];

/** As browsers write it: scheme, lower-case host, and the port unless it is the scheme's own. */
const ORIGIN = /^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/;

const originsProblem = (list: string): string | null =>
  list === '' || list.split(',').every((origin) => ORIGIN.test(origin))
    ? null
    : 'must list origins such as https://app.example:8443';

export const SETTINGS: readonly SettingRow[] = [
  {
    key: 'home',
    env: 'SVC_HOME',
    type: 'text',
    defaultDoc: '~/.mnemesh',
    doc: 'Folder of the database, keys and configuration (0700).',
  },
  {
    key: 'dbPath',
    flag: '--db',
    env: 'SVC_DB',
    config: 'db',
    type: 'text',
    defaultDoc: 'mnemesh.db in the home',
    doc: 'Database file.',
  },
  {
    key: 'keyDir',
    env: 'SVC_KEY_DIR',
    type: 'text',
    defaultDoc: 'keys in the home',
    doc: 'Folder of the key files (0700).',
  },
  {
    key: 'host',
    flag: '--host',
    type: 'text',
    doc: 'Address that serve binds; another than loopback needs an API key.',
  },
  {
    key: 'port',
    flag: '--port',
    type: 'integer',
    min: 0,
    max: 65_535,
    doc: 'Port that serve binds; 0 takes any free one.',
  },
  {
    key: 'apiKey',
    env: 'SVC_API_KEY',
    config: 'api_key',
    type: 'secret',
    doc: 'Key that HTTP callers must present.',
  },
  {
    key: 'requireApiKey',
    env: 'SVC_REQUIRE_API_KEY',
    type: 'boolean',
    doc: 'Refuse to start without an API key, on any bind.',
  },
  {
    key: 'requireAttestation',
    env: 'SVC_REQUIRE_AGENT_ATTESTATION',
    type: 'boolean',
    doc: 'Refuse unsigned writes; 0 permits them.',
  },
  {
    key: 'agentId',
    flag: '--agent-id',
    env: 'SVC_AGENT_ID',
    type: 'text',
    doc: 'Agent id of this process, and whose private rows its reads may see.',
  },
  {
    key: 'adminAgentIds',
    env: 'SVC_ADMIN_AGENT_IDS',
    config: 'admin.agent_ids',
    type: 'list',
    doc: 'Agents that may use the admin routes.',
  },
  {
    key: 'adminHeaderTrust',
    env: 'SVC_ADMIN_HEADER_TRUST',
    type: 'boolean',
    doc: 'Trust X-Agent-Id for admin without an API key.',
  },
  {
    key: 'corsOrigins',
    env: 'SVC_HTTP_CORS_ORIGINS',
    config: 'http.cors_origins',
    type: 'list',
    check: originsProblem,
    doc: 'Origins, such as https://app.example, whose pages may use the HTTP API; none by default.',
  },
  {
    key: 'embedBackend',
    env: 'SVC_EMBED_BACKEND',
    config: 'embeddings.backend',
    type: 'text',
    oneOf: EMBED_BACKENDS,
    doc: 'Embedder: builtin, or none for keyword mode; local-native and compatible come with a later release, until then they mean keyword mode and an error in the log.',
  },
  {
    key: 'archiveOnGc',
    config: 'storage.archive_on_gc',
    legacy: 'archive_on_gc',
    type: 'boolean',
    doc: 'Keep a copy of deleted and expired memories in the archive.',
  },
  {
    key: 'defaultNamespace',
    config: 'storage.default_namespace',
    legacy: 'default_namespace',
    type: 'text',
    check: namespaceProblem,
    doc: 'Namespace of a store that names none.',
  },
  {
    key: 'pageSizeMax',
    env: 'SVC_MAX_PAGE_SIZE',
    config: 'limits.max_page_size',
    type: 'integer',
    unit: 'rows',
    min: 1,
    max: 100_000,
    doc: 'Page cap of list and bulk.',
  },
  {
    key: 'maxMemoriesPerDay',
    env: 'SVC_MAX_MEMORIES_PER_DAY',
    config: 'limits.max_memories_per_day',
    type: 'integer',
    unit: 'memories',
    min: 0,
    max: 1_000_000_000,
    doc: 'What one agent may store in one namespace in a UTC day.',
  },
  {
    key: 'maxStorageBytes',
    env: 'SVC_MAX_STORAGE_BYTES',
    config: 'limits.max_storage_bytes',
    type: 'integer',
    unit: 'bytes',
    min: 0,
    max: 1_000_000_000_000_000,
    doc: 'Bytes of title, content and metadata that one agent may hold in one namespace.',
  },
  {
    key: 'maxLinksPerDay',
    env: 'SVC_MAX_LINKS_PER_DAY',
    config: 'limits.max_links_per_day',
    type: 'integer',
    unit: 'links',
    min: 0,
    max: 1_000_000_000,
    doc: 'Links that one agent may make in one namespace in a UTC day.',
  },
  {
    key: 'maxInflightRequests',
    env: 'SVC_MAX_INFLIGHT_REQUESTS',
    config: 'limits.max_inflight_requests',
    type: 'integer',
    unit: 'requests',
    min: 0,
    max: 1_000_000,
    doc: 'Requests admitted at a time; the rest is shed with 503. 0 admits all.',
  },
  {
    key: 'requestTimeoutMs',
    config: 'request_timeout_secs',
    type: 'integer',
    unit: 's',
    min: 1,
    max: 3600,
    convert: (seconds) => seconds * 1000,
    defaultDoc: '60',
    doc: 'A request that takes longer answers DEADLINE.',
  },
  {
    key: 'shutdownGraceMs',
    type: 'integer',
    unit: 'ms',
    doc: 'How long a shutdown waits for requests under way.',
  },
  {
    key: 'synchronous',
    env: 'SVC_DB_SYNCHRONOUS',
    type: 'text',
    oneOf: ['FULL', 'NORMAL', 'OFF'],
    doc: 'How SQLite syncs a commit; FULL keeps what it acknowledged through a power loss.',
  },
  {
    key: 'logLevel',
    env: 'SVC_LOG_LEVEL',
    config: 'logging.level',
    type: 'text',
    oneOf: ['debug', 'info', 'warn', 'error', 'silent'],
    doc: 'debug, info, warn, error or silent; logs go to standard error.',
  },
  {
    key: 'profile',
    flag: '--profile',
    env: 'SVC_PROFILE',
    config: 'mcp.profile',
    type: 'text',
    oneOf: ['core', 'full'],
    doc: 'Tools that mcp offers: core or full.',
  },
  {
    key: 'observationsTtlDays',
    env: 'SVC_OBSERVATIONS_TTL_DAYS',
    config: 'storage.observations_ttl_days',
    type: 'integer',
    min: 0,
    max: 3650,
    unit: 'days',
    doc: 'How long it is kept what each recall answered; 0 keeps no such record.',
  },
  ...LIFE_ROWS,
  ...MODEL_ROWS,
  ...LATER_ROWS,
  ...MESH_ROWS,
];
