import type { AgentRecord } from './agents/agent.js';
import type { QuotaUse } from './agents/quota.js';
import type { Link, LinkKey } from './graph/link.js';
import type { RecordImage } from './kinds/record.js';
import type { Standard } from './kinds/standard-kind.js';
import type { LifeCommand, LifeOutcomes } from './life-commands.js';
import type { Citation, Kind, Memory, MemoryRow, Tier } from './memory/memory.js';
import type { MeshCommand, MeshOutcomes } from './mesh/store-terms.js';
import type { Viewer } from './ranking/types.js';

/** What to do when (title, namespace) is taken (reference-http §2.3). */
export const ON_CONFLICT = ['error', 'merge', 'version'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

/**
 * Everything that can be asked of a store to change, as plain data: commands cross threads and sockets unchanged.
 * Each kind has its decision in `protocol/decide/` and its outcome type below.
 */
export type Command =
  | StoreMemory
  | UpdateMemory
  | DeleteMemory
  | PromoteMemory
  | TouchMemories
  | PruneObservations
  | ExpireMemories
  | PutEmbeddings
  | RegisterAgent
  | BindAgentKey
  | EnsureQuota
  | ClaimOwnership
  | ReleaseOwnership
  | ImportMemory
  | ImportLink
  | ImportRecord
  | DropLink
  | SetStandard
  | ClearStandard
  | AdoptPeer
  | LifeCommand
  | MeshCommand;

export interface StoreMemory {
  readonly kind: 'store-memory';
  /** The row to write, complete but for the stamps; its id is used when no row is updated. */
  readonly memory: Memory;
  readonly onConflict: OnConflict;
  readonly viewer: Viewer;
  /** Keep a copy of an expired row that gives way to this one (`archive_on_gc`). */
  readonly archive: boolean;
  /** Set when the author's signature was verified: it is good once, and only while the key is bound. */
  readonly envelope: SignedEnvelope | null;
}

/** A verified signed write envelope, as the decision judges it again. */
export interface SignedEnvelope {
  readonly agentId: string;
  /** SHA-256 of the envelope's bytes, hex. */
  readonly fingerprint: string;
  /** Standard base64 of the key that verified it. */
  readonly publicKey: string;
  /** When the envelope is out of date everywhere. */
  readonly expiresAtMs: number;
}

/** Fields of an update; absent means unchanged. `expires_at: null` clears; `scope` goes into the metadata. */
export interface MemoryPatch {
  readonly title?: string;
  readonly content?: string;
  readonly tier?: Tier;
  readonly namespace?: string;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly confidence?: number;
  readonly expires_at?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly source_uri?: string;
  readonly kind?: Kind;
  readonly source?: string;
  readonly scope?: string;
  readonly citations?: readonly Citation[];
  readonly source_span?: { readonly start: number; readonly end: number };
  readonly entity_id?: string;
}

export interface UpdateMemory {
  readonly kind: 'update-memory';
  readonly id: string;
  readonly patch: MemoryPatch;
  readonly expectedVersion: number | null;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

export interface DeleteMemory {
  readonly kind: 'delete-memory';
  readonly id: string;
  readonly archive: boolean;
  readonly viewer: Viewer;
}

export interface PromoteMemory {
  readonly kind: 'promote-memory';
  readonly id: string;
  readonly targetTier: 'mid' | 'long';
  /** Clones the row into this namespace above its own instead; null promotes the tier. */
  readonly vertical?: { readonly toNamespace: string; readonly cloneId: string } | null;
  readonly viewer: Viewer;
  /** Keep a copy of an expired row that gives way to a clone. */
  readonly archive?: boolean;
}

/** Reads that have happened, coalesced by memory. */
export interface TouchMemories {
  readonly kind: 'touch-memories';
  readonly touches: readonly { readonly id: string; readonly count: number; readonly lastAt: string }[];
  readonly policy: LifePolicy;
  /** What the same recalls answered, for the ledger. */
  readonly observations?: readonly RecallObservation[];
  /** Recalls that led to a memory; applied after the observations. */
  readonly consumptions?: readonly RecallConsumption[];
}

/** One recall as the ledger of observations keeps it (reference-mcp-cli §6.8): local to this database. */
export interface RecallObservation {
  readonly recallId: string;
  /** Who asked; only they may see it. */
  readonly agentId: string;
  /** What found the rows: the mode of the recall. */
  readonly retriever: string;
  readonly observedAt: string;
  /** Best first, with the score of each. */
  readonly memoryIds: readonly string[];
  readonly scores: readonly number[];
}

/** A memory was written because of an earlier recall. */
export interface RecallConsumption {
  readonly recallId: string;
  /** Whose recall it must be; null for whoever may see all. */
  readonly agentId: string | null;
  readonly memoryId: string;
  readonly consumedAt: string;
}

/** Removes the oldest observations. */
export interface PruneObservations {
  readonly kind: 'prune-observations';
  /** Observed before this instant. */
  readonly before: string;
  readonly limit: number;
}

/** The part of the life cycle that a read may move (reference-http §2.2). Seconds; null means never. */
export interface LifePolicy {
  readonly extendSeconds: Readonly<Record<Tier, number | null>>;
  readonly promoteAccessCount: number;
}

export interface ExpireMemories {
  readonly kind: 'expire-memories';
  readonly limit: number;
  readonly archive: boolean;
}

export interface PutEmbeddings {
  readonly kind: 'put-embeddings';
  readonly rows: readonly EmbeddedRow[];
}

/** The embedder's verdict on one row. */
export interface EmbeddedRow {
  readonly rid: number;
  readonly id: string;
  /** The version that was embedded; a row that changed since is left for the next round. */
  readonly version: number;
  readonly state: EmbedState;
  readonly model: string;
  readonly dim: number;
  /** Chunk vectors one after the other, float32 little-endian; null unless the state is `embedded`. */
  readonly vectors: Uint8Array | null;
}

/** `memories.embed_state`. */
export const EMBED_STATES = { pending: 0, embedded: 1, skipped: 2, failed: 3 } as const;
export type EmbedState = (typeof EMBED_STATES)[keyof typeof EMBED_STATES];

/** Registers an agent, or refreshes its record (interface §2.4). */
export interface RegisterAgent {
  readonly kind: 'register-agent';
  /** The record as a memory, complete but for the stamps; its id is used when the agent is new. */
  readonly memory: Memory;
  /** The id of the record where another memory has the first. */
  readonly spareId: string;
  readonly viewer: Viewer;
  readonly admin: boolean;
}

/** Binds a key to a registered agent, or takes it away (interface §4.9). */
export interface BindAgentKey {
  readonly kind: 'bind-agent-key';
  readonly agentId: string;
  /** Standard base64 of an admitted key; null revokes. */
  readonly publicKey: string | null;
  /** Who did it, for the audit chain. */
  readonly by: string;
}

/** Answers a quota row and creates it at the first call (interface §2.9). */
export interface EnsureQuota {
  readonly kind: 'ensure-quota';
  readonly holder: string;
  readonly namespace: string;
}

export interface ClaimOwnership {
  readonly kind: 'claim-ownership';
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  readonly leaseMs: number;
}

export interface ReleaseOwnership {
  readonly kind: 'release-ownership';
  readonly holder: string;
}

/** A row of an export; who may import is decided before (interface §4.10). */
export interface ImportMemory {
  readonly kind: 'import-memory';
  /** Complete but for the stamps. */
  readonly memory: Memory;
  /** As of `store-memory`. */
  readonly archive: boolean;
}

export interface ImportLink {
  readonly kind: 'import-link';
  readonly link: Link;
}

/** Removes a link; its tombstone replicates. */
export interface DropLink {
  readonly kind: 'drop-link';
  readonly link: LinkKey;
  readonly viewer: Viewer;
}

/** Pins a memory as the standard of a namespace, or names the namespace that it inherits from (interface §2.5). */
export interface SetStandard {
  readonly kind: 'set-standard';
  readonly namespace: string;
  /** The memory that becomes the standard; null leaves only the parent. */
  readonly standardId: string | null;
  readonly parent: string | null;
  readonly viewer: Viewer;
}

/** Takes the standard of a namespace away; the memory stays. */
export interface ClearStandard {
  readonly kind: 'clear-standard';
  readonly namespace: string;
}

/** Makes this node the home of all subjects of a lost node, and of those that it had adopted itself. */
export interface AdoptPeer {
  readonly kind: 'adopt-peer';
  readonly peerId: string;
  /** Who asked for it, for the audit chain. */
  readonly by: string;
}

/** Imports a record of any exported kind; who may import is decided before (interface §4.10). */
export interface ImportRecord {
  readonly kind: 'import-record';
  readonly record: RecordImage;
  /** True brings back a record that was removed, whenever that was; false only one that changed since. */
  readonly revive: boolean;
}

/** What became of an imported record. */
export interface ImportedRecord {
  readonly id: string;
  readonly change: 'created' | 'updated' | 'unchanged';
}

/** What each command answers when it succeeds. */
export interface Outcomes extends LifeOutcomes, MeshOutcomes {
  /** Not the whole memory: it would cross a thread and be thrown away. */
  'store-memory': {
    readonly stored: Pick<Memory, 'id' | 'tier' | 'namespace' | 'title' | 'version'>;
    readonly created: boolean;
  };
  'update-memory': { readonly memory: Memory };
  'delete-memory': { readonly id: string; readonly archived: boolean };
  'promote-memory': { readonly memory: Memory };
  'touch-memories': { readonly touched: number; readonly promoted: readonly string[] };
  /** `more`: there may be older rows than the instant still. */
  'prune-observations': { readonly more: boolean };
  'expire-memories': { readonly expired: number; readonly more: boolean };
  'put-embeddings': { readonly stored: number };
  'register-agent': { readonly agent: AgentRecord; readonly id: string; readonly created: boolean };
  'bind-agent-key': { readonly agent: AgentRecord };
  'ensure-quota': { readonly use: QuotaUse };
  'claim-ownership': { readonly owned: boolean; readonly fencing: number; readonly holder: string };
  'release-ownership': { readonly released: boolean };
  /** `id` is that of the row that holds the text now, which a merge may have kept. */
  'import-memory': { readonly id: string; readonly change: 'created' | 'updated' | 'unchanged' };
  'import-link': { readonly change: 'created' | 'unchanged' };
  'import-record': ImportedRecord;
  'drop-link': { readonly dropped: Link };
  'set-standard': { readonly standard: Standard };
  'clear-standard': { readonly cleared: boolean };
  /** The node that is the home now, and the makers whose subjects it took over, with their home numbers. */
  'adopt-peer': {
    readonly home: string;
    readonly adopted: readonly { readonly peer_id: string; readonly number: number }[];
  };
}

export type OutcomeOf<C extends Command> = Outcomes[C['kind']];

/** A row as the engine hands it to a decision. */
export type { MemoryRow };
