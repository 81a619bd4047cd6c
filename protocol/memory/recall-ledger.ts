/** A row of the ledger, in the names of the interface. */
export interface ObservationJson {
  readonly recall_id: string;
  readonly memory_id: string;
  readonly retriever: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number;
  readonly consumed: boolean;
  readonly observed_at: string;
  readonly consumed_at?: string;
  readonly consumed_by_memory_id?: string;
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
