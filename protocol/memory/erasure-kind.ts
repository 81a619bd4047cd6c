import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

/** A memory that was erased, as far as this node is with it. */
export interface Erasure {
  readonly memory_id: MemoryId;
  readonly namespace: string;
  /** When this node heard of it. */
  readonly erased_at: Instant;
  /** Who asked this node; null where another node was asked. */
  readonly erased_by: AgentId | null;
  /** 1 where this node may not hold the namespace, so it writes nothing there about it. */
  readonly outside: number | null;
  /** When this node had overwritten what it held; null before. */
  readonly finished_at: Instant | null;
}

export const erasureKind = localKind<Erasure>({
  name: 'erasure',
  table: 'erasures',
  key: ['memory_id'],
  members: {
    ...{ memory_id: 'text', namespace: 'text', erased_at: 'text' },
    ...{ erased_by: 'text?', outside: 'integer?', finished_at: 'text?' },
  },
  indexes: [['finished_at', 'memory_id'], ['erased_at']],
  isVisible: ({ erased_by }, { all, agentId }) => all || (agentId !== null && erased_by === agentId),
});
