import { randomUUID } from 'node:crypto';
import type { Viewer } from '../../protocol/base/viewer.js';
import { DEFAULT_NODE_POLICY, type NodePolicy } from '../../protocol/decide/node-policy.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { newMemory } from '../../protocol/memory/new-memory.js';
import type { MemoryFilter } from '../../protocol/memory/queries.js';
import type { RecallRequest } from '../../protocol/memory/recall-request.js';
import type { DeleteMemory } from '../../protocol/memory/remove.js';
import type { StoreMemory } from '../../protocol/memory/store.js';
import type { UpdateMemory } from '../../protocol/memory/update.js';

/** Sees every row. */
export const OPERATOR: Viewer = { all: true, agentId: null, asNamespace: null };

/** A tenant of a shared node. */
export const tenant = (agentId: string): Viewer => ({ all: false, agentId, asNamespace: null });

/** The policy of a node with quotas that nothing reaches. */
export const UNLIMITED: NodePolicy = {
  ...DEFAULT_NODE_POLICY,
  quota: {
    memoriesPerDay: 1e12,
    storageBytes: 1e15,
    linksPerDay: 1e12,
    registrationsPerDay: 1e12,
    databaseBytes: null,
  },
};

/** A plain memory with the given fields changed. */
export function aMemory(fields: Partial<Memory> = {}): Memory {
  const now = '2026-01-01T00:00:00.000Z';
  return newMemory(now, {
    id: randomUUID(),
    namespace: 'global',
    title: 'a title',
    content: 'some content',
    source: 'api',
    metadata: { agent_id: 'ai:writer', attest_level: 'claimed' },
    ...fields,
  });
}

/** The command that stores a memory. */
export function storing(fields: Partial<Memory> = {}, rest: Partial<StoreMemory> = {}): StoreMemory {
  return {
    kind: 'store-memory',
    memory: aMemory(fields),
    onConflict: 'error',
    viewer: OPERATOR,
    archive: true,
    envelope: null,
    ...rest,
  };
}

/** The command that changes some fields of a memory. */
export const updating = (id: string, patch: UpdateMemory['patch']): UpdateMemory => ({
  kind: 'update-memory',
  id,
  patch,
  expectedVersion: null,
  viewer: OPERATOR,
  archive: true,
});

export const deleting = (id: string): DeleteMemory => ({
  kind: 'delete-memory',
  id,
  viewer: OPERATOR,
  archive: true,
});

/** The command that takes over an unsigned link between two memories. */
export const linking = (source_id: string, target_id: string) =>
  ({
    kind: 'import-link',
    link: {
      source_id,
      target_id,
      relation: 'related_to',
      created_at: '2026-01-01T00:00:00.000Z',
      valid_from: null,
      valid_until: null,
      observed_by: null,
      signature: null,
      attest_level: 'unsigned',
      signed_at: null,
      public_key: null,
      retired_at: null,
      believed_until: null,
      believed_from: null,
      earlier: [],
      rest: {},
    },
  }) as const;

/** The first hundred of all memories, for lists. */
export const anyMemory = (now: string): MemoryFilter => ({
  namespace: null,
  tier: null,
  minPriority: null,
  since: null,
  until: null,
  tags: [],
  agentId: null,
  viewer: OPERATOR,
  now,
  limit: 100,
  offset: 0,
});

/** A recall by words among all memories. */
export const recalling = (query: string, now: string): RecallRequest => ({
  query,
  namespace: null,
  limit: 5,
  tags: [],
  since: null,
  until: null,
  kinds: null,
  viewer: OPERATOR,
  now,
  vectors: null,
});
