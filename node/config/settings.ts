/**
 * The settings of a node, one row each: name, default, environment variable, configuration key, a line for the docs,
 * and whether its value is secret (interface §2.12, decisions "Names and places").
 */
import * as limits from '../../protocol/limits.js';
import type { Tier } from '../../protocol/memory.js';

export interface SettingRow {
  readonly key: keyof Settings;
  /** Environment variable. */
  readonly env?: string;
  /** Dotted key in the configuration file. */
  readonly config?: string;
  readonly type: 'text' | 'integer' | 'boolean' | 'list' | 'secret';
  readonly unit?: string;
  readonly doc: string;
}

export interface Settings {
  readonly home: string;
  readonly dbPath: string;
  readonly keyDir: string;
  readonly host: string;
  readonly port: number;
  /** The API key, or null; never printed. */
  readonly apiKey: string | null;
  readonly requireApiKey: boolean;
  readonly requireAttestation: boolean;
  readonly agentId: string | null;
  readonly adminAgentIds: readonly string[];
  readonly adminHeaderTrust: boolean;
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
  /** Days that the ledger of recalls is kept; 0 keeps none. */
  readonly observationsTtlDays: number;
  /** What `session_default` fills in where a recall names nothing itself; the first namespace counts. */
  readonly recallScopeNamespaces: readonly string[];
  /** An age such as 24h, 7d or 30m; null for any. */
  readonly recallScopeSince: string | null;
  readonly recallScopeTier: Tier | null;
  readonly recallScopeLimit: number | null;
}

/** What holds when nothing is configured; paths depend on the home and are filled in by the loader. */
export const DEFAULTS: Omit<Settings, 'home' | 'dbPath' | 'keyDir'> = {
  host: '127.0.0.1',
  port: 9077,
  apiKey: null,
  requireApiKey: false,
  requireAttestation: true,
  agentId: null,
  adminAgentIds: [],
  adminHeaderTrust: false,
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
  observationsTtlDays: limits.OBSERVATIONS_TTL_DAYS,
  recallScopeNamespaces: [],
  recallScopeSince: null,
  recallScopeTier: null,
  recallScopeLimit: null,
};

export const SETTINGS: readonly SettingRow[] = [
  {
    key: 'home',
    env: 'SVC_HOME',
    type: 'text',
    doc: 'Folder of the database, keys and configuration; default ~/.mnemesh.',
  },
  {
    key: 'dbPath',
    env: 'SVC_DB',
    config: 'db',
    type: 'text',
    doc: 'Database file; default mnemesh.db in the home.',
  },
  {
    key: 'keyDir',
    env: 'SVC_KEY_DIR',
    type: 'text',
    doc: 'Folder of the key files; default keys in the home.',
  },
  { key: 'host', type: 'text', doc: 'Address that serve binds.' },
  { key: 'port', type: 'integer', doc: 'Port that serve binds.' },
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
    key: 'embedBackend',
    env: 'SVC_EMBED_BACKEND',
    config: 'embeddings.backend',
    type: 'text',
    doc: 'Embedder: builtin, or none for keyword mode.',
  },
  {
    key: 'archiveOnGc',
    config: 'storage.archive_on_gc',
    type: 'boolean',
    doc: 'Keep a copy of deleted and expired memories in the archive.',
  },
  {
    key: 'defaultNamespace',
    config: 'storage.default_namespace',
    type: 'text',
    doc: 'Namespace of a store that names none.',
  },
  {
    key: 'pageSizeMax',
    env: 'SVC_MAX_PAGE_SIZE',
    config: 'limits.max_page_size',
    type: 'integer',
    unit: 'rows',
    doc: 'Page cap of list and bulk.',
  },
  {
    key: 'maxMemoriesPerDay',
    env: 'SVC_MAX_MEMORIES_PER_DAY',
    config: 'limits.max_memories_per_day',
    type: 'integer',
    unit: 'memories',
    doc: 'What one agent may store in one namespace in a UTC day.',
  },
  {
    key: 'maxStorageBytes',
    env: 'SVC_MAX_STORAGE_BYTES',
    config: 'limits.max_storage_bytes',
    type: 'integer',
    unit: 'bytes',
    doc: 'Bytes of title, content and metadata that one agent may hold in one namespace.',
  },
  {
    key: 'maxLinksPerDay',
    env: 'SVC_MAX_LINKS_PER_DAY',
    config: 'limits.max_links_per_day',
    type: 'integer',
    unit: 'links',
    doc: 'Links that one agent may make in one namespace in a UTC day.',
  },
  {
    key: 'maxInflightRequests',
    env: 'SVC_MAX_INFLIGHT_REQUESTS',
    config: 'limits.max_inflight_requests',
    type: 'integer',
    doc: 'Requests admitted at a time; the rest is shed with 503. 0 admits all.',
  },
  {
    key: 'requestTimeoutMs',
    type: 'integer',
    unit: 'ms',
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
    doc: 'How SQLite syncs a commit; FULL keeps what it acknowledged through a power loss.',
  },
  {
    key: 'logLevel',
    env: 'SVC_LOG_LEVEL',
    config: 'logging.level',
    type: 'text',
    doc: 'debug, info, warn, error or silent; logs go to standard error.',
  },
  {
    key: 'profile',
    env: 'SVC_PROFILE',
    config: 'mcp.profile',
    type: 'text',
    doc: 'Tools that mcp offers: core or full.',
  },
  {
    key: 'observationsTtlDays',
    env: 'SVC_OBSERVATIONS_TTL_DAYS',
    config: 'storage.observations_ttl_days',
    type: 'integer',
    unit: 'days',
    doc: 'How long it is kept what each recall answered; 0 keeps no such record.',
  },
  {
    key: 'recallScopeNamespaces',
    config: 'agents.defaults.recall_scope.namespaces',
    type: 'list',
    doc: 'Namespace of a recall with session_default that names none; the first one counts.',
  },
  {
    key: 'recallScopeSince',
    config: 'agents.defaults.recall_scope.since',
    type: 'text',
    doc: 'Oldest age of such a recall: 24h, 7d or 30m.',
  },
  {
    key: 'recallScopeTier',
    config: 'agents.defaults.recall_scope.tier',
    type: 'text',
    doc: 'Tier of such a recall.',
  },
  {
    key: 'recallScopeLimit',
    config: 'agents.defaults.recall_scope.limit',
    type: 'integer',
    unit: 'rows',
    doc: 'Limit of such a recall.',
  },
];
