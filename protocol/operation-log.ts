import { canonicalJson } from './canonical-json.js';
import type { Memory } from './memory.js';
import type { Crypto } from './seams.js';
import type { VersionVector } from './version-vector.js';

/**
 * Kinds of operations. Every mutation of replicated state appends one, in the same transaction as its effect
 * (design: mesh, "The operation log"). A node parks kinds that it does not know.
 */
export const OPERATION_KINDS = [
  'store',
  'update',
  'promote',
  'delete',
  'expire',
  'life',
  'archive',
  'restore',
  'purge',
  'link',
  'epoch',
] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** What is hashed into an origin's chain. */
export interface OperationHeader {
  /** `<peer_id>/<db_epoch>` of the node that made it. */
  readonly origin: string;
  /** 1, 2, 3 … without a gap for each origin. */
  readonly seq: number;
  readonly hlc: string;
  readonly kind: OperationKind;
  readonly namespace: string;
  /** Id of the memory or link that it changes. */
  readonly subject: string;
  /** The subject's version vector before this write. */
  readonly seen: VersionVector;
  /** SHA-256 of the payload text, hex. */
  readonly payloadHash: string;
  /** Hash of the origin's previous header; 64 zeros for the first. */
  readonly prevHash: string;
}

/** The head of a chain without operations. */
export const CHAIN_GENESIS = '0'.repeat(64);

/** The id of an operation: its origin and sequence, which no other operation shares. */
export function operationId(origin: string, seq: number): string {
  return `${origin}/${seq}`;
}

/** The hash that the next header of the same origin carries as `prevHash`. */
export function headerHash(
  header: Omit<OperationHeader, 'kind'> & { readonly kind: string },
  crypto: Crypto,
): string {
  return crypto.sha256Hex(
    canonicalJson([
      header.origin,
      header.seq,
      header.hlc,
      header.kind,
      header.namespace,
      header.subject,
      header.seen,
      header.payloadHash,
      header.prevHash,
    ]),
  );
}

/**
 * The post-image of a memory's replicated columns, as canonical JSON. Local counters (access_count,
 * last_accessed_at) and the stamps, which the header carries, are left out.
 */
export function memoryPayload(memory: MemoryImage): string {
  // The canonical JSON of the image; its keys are known, so they are not sorted again for every write.
  const members = REPLICATED_KEYS.map(([key, prefix]) => {
    const value = memory[key];
    return prefix + (typeof value === 'string' ? JSON.stringify(value) : canonicalJson(value));
  });
  return `{${members.join(',')}}`;
}

const LOCAL_KEYS = ['access_count', 'last_accessed_at', 'hlc', 'origin', 'origin_seq', 'seen'] as const;
export type ReplicatedKey = Exclude<keyof Memory, (typeof LOCAL_KEYS)[number]>;

/** What the payload of a store, update, promotion, life change or restore says. */
export type MemoryImage = Pick<Memory, ReplicatedKey>;

const REPLICATED: Readonly<Record<ReplicatedKey, true>> = {
  id: true,
  tier: true,
  namespace: true,
  title: true,
  content: true,
  tags: true,
  priority: true,
  confidence: true,
  source: true,
  created_at: true,
  updated_at: true,
  expires_at: true,
  metadata: true,
  kind: true,
  reflection_depth: true,
  atomised_into: true,
  atom_of: true,
  entity_id: true,
  persona_version: true,
  citations: true,
  source_uri: true,
  source_span: true,
  confidence_source: true,
  confidence_signals: true,
  confidence_decayed_at: true,
  mentioned_entity_id: true,
  version: true,
  write_signature: true,
  created_hlc: true,
  edited: true,
};

/** The columns of an image in the order of its text, each with its member's beginning. */
export const REPLICATED_KEYS = (Object.keys(REPLICATED) as ReplicatedKey[])
  .sort()
  .map((key) => [key, `${JSON.stringify(key)}:`] as const);

/** What a removal says: enough to leave a tombstone, and to judge it against versions that it has not seen. */
export interface Removal {
  readonly kind: RemovalKind;
  readonly namespace: string;
  readonly title: string;
  readonly reason: string;
  /** The expiry that an `expire` acted on. */
  readonly expiresAt: string | null;
  /** Version of the row that was removed. */
  readonly version: number;
  /** What was removed, for the archives of all nodes; null keeps no copy. */
  readonly image: MemoryImage | null;
}

export const REMOVAL_KINDS = ['delete', 'expire', 'archive'] as const;
export type RemovalKind = (typeof REMOVAL_KINDS)[number];

/** The payload of a delete, an expiry or an archiving. */
export function removalPayload(memory: Memory, reason: string, archived: boolean): string {
  const text = canonicalJson({
    id: memory.id,
    namespace: memory.namespace,
    title: memory.title,
    expires_at: memory.expires_at,
    reason,
    version: memory.version,
  });
  return archived ? `${text.slice(0, -1)},"was":${memoryPayload(memory)}}` : text;
}

/**
 * The payload of a purge: which archived copy is gone for good, and why. A receiver may keep its own copy longer when
 * the reason is `retention`, because how long an archive is kept is each node's setting.
 */
export function purgePayload(
  memory: Pick<Memory, 'id' | 'namespace'>,
  archivedAt: string,
  reason: PurgeReason,
): string {
  return canonicalJson({
    id: memory.id,
    namespace: memory.namespace,
    archived_at: archivedAt,
    reason,
  });
}

/** Why an archived row was purged: somebody asked, or it was older than `storage.archive_max_days`. */
export type PurgeReason = 'request' | 'retention';
