import { randomUUID } from 'node:crypto';
import type { StoreMemory } from '../../protocol/commands.js';
import type { Memory } from '../../protocol/memory.js';
import { newMemory } from '../../protocol/new-memory.js';
import type { QuotaLimits } from '../../protocol/quota.js';
import type { Viewer } from '../../protocol/ranking/types.js';

/** Sees every row. */
export const OPERATOR: Viewer = { all: true, agentId: null, asNamespace: null };

/** A tenant of a shared node. */
export const tenant = (agentId: string): Viewer => ({ all: false, agentId, asNamespace: null });

/** Quotas that nothing reaches. */
export const UNLIMITED: QuotaLimits = { memoriesPerDay: 1e12, storageBytes: 1e15, linksPerDay: 1e12 };

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
