import type { Link, Relation } from '../../../protocol/links/link.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { StoreMemory } from '../../../protocol/memory/store.js';
import { linking, OPERATOR, storing, tenant } from '../../support/memories.js';

/** The values that the scenes share. */
export const PEER = 'peer-0000000000000001';
export const ORIGIN = `${PEER}/00112233aabbccdd`;
export const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
export const at = (seconds: number): string => new Date(START_MS + seconds * 1000).toISOString();
export const NOW = at(3600);
export const LATER = at(40 * 86_400);

export const m = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const ALICE = tenant('ai:alice');
export const BOB = tenant('ai:bob');
/** A caller within a namespace, whose gate knows the namespaces above it. */
export const WITHIN = { all: false, agentId: 'ai:bob', asNamespace: 'team/docs' } as const;
export const VIEWERS = [OPERATOR, ALICE, BOB, WITHIN] as const;
export const TTL = { short: 21_600, mid: 604_800, long: null } as const;

export const owned = (agentId: string, more: object = {}): Memory['metadata'] => ({
  agent_id: agentId,
  attest_level: 'claimed',
  ...more,
});

export const mem = (n: number, fields: Partial<Memory> = {}, more: Partial<StoreMemory> = {}): StoreMemory =>
  storing(
    { id: m(n), title: `memory ${n}`, created_at: at(n), updated_at: at(n), tier: 'long', ...fields },
    more,
  );

export const link = (
  from: number,
  to: number,
  relation: Relation = 'related_to',
  more: Partial<Link> = {},
) => ({
  ...linking(m(from), m(to)).link,
  relation,
  created_at: at(from * 10 + to),
  ...more,
});
