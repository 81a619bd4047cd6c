import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

/** A recall in the ledger. Members that may be null came later, or are those of a trace, which a setting switches off. */
export interface StoredRecall {
  /** Grows with time. */
  readonly seq: number;
  readonly recall_id: string;
  readonly agent_id: AgentId;
  readonly retriever: string;
  readonly observed_at: Instant;
  /** `[[id, score], …]`, best first. */
  readonly memories: string;
  readonly consumed_at: Instant | null;
  readonly consumed_by_memory_id: MemoryId | null;
  /** Also null after an erasure of what it may have been about. */
  readonly query: string | null;
  readonly namespace: string | null;
  readonly words_only: string | null;
  /** Rows of the answer; of every recall with a trace. */
  readonly answered: number | null;
  readonly weak: number | null;
  readonly below: number | null;
  readonly took_ms: number | null;
  /** Rows that were used. */
  readonly used: number | null;
  /** `[[id, how, at], …]`. */
  readonly uses: string | null;
}

export const recallKind = localKind<StoredRecall>({
  ...{ name: 'recall', table: 'recall_observations', key: ['seq'], numbered: true },
  members: {
    ...{ seq: 'integer', recall_id: 'text', agent_id: 'text', retriever: 'text', observed_at: 'text' },
    ...{ memories: 'text', consumed_at: 'text?', consumed_by_memory_id: 'text?' },
    ...{ query: 'text?', namespace: 'text?', words_only: 'text?', answered: 'integer?', weak: 'integer?' },
    ...{ below: 'integer?', took_ms: 'integer?', used: 'integer?', uses: 'text?' },
  },
  indexes: [['recall_id'], ['agent_id']],
  isVisible: ({ agent_id }, { all, agentId }) => all || agent_id === agentId,
});
