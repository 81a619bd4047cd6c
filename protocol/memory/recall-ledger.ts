import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
/** A row of the ledger, in the names of the interface. */
export interface ObservationJson {
  readonly recall_id: string;
  readonly memory_id: string;
  readonly retriever: string;
  /** Starts at 1. */
  readonly rank: number;
  readonly score: number;
  readonly consumed: boolean;
  readonly observed_at: Instant;
  readonly consumed_at?: string;
  readonly consumed_by_memory_id?: string;
}

/** One recall in the ledger of observations (reference-mcp-cli §6.8): local to this database. */
export interface RecallObservation {
  readonly recallId: string;
  /** The agent that asked; only this agent may see the observation. */
  readonly agentId: AgentId;
  /** What found the rows: the mode of the recall. */
  readonly retriever: string;
  readonly observedAt: Instant;
  /** Best first, with the score of each. */
  readonly memoryIds: readonly string[];
  readonly scores: readonly number[];
}

/** A memory in the answer of a recall, with its score. */
export type RecalledMemory = readonly [id: string, score: number];

/** Records that a memory was written because of an earlier recall. */
export interface RecallConsumption {
  readonly recallId: string;
  /** The agent that must have made the recall; null for a caller who may see all recalls. */
  readonly agentId: AgentId | null;
  readonly memoryId: MemoryId;
  readonly consumedAt: Instant;
}
