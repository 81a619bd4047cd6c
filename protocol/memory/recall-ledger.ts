import { withAncestors } from '../base/ids.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { isWithin } from '../base/within.js';
import type { MemoryUse } from '../decide/used.js';

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
  /** Absent where nothing but the rows is kept. */
  readonly trace?: RecallTrace;
}

/** A recall of the ledger, as its list shows it. What is null was not kept. */
export interface RecallJson {
  readonly recall_id: string;
  readonly agent_id: AgentId;
  readonly observed_at: Instant;
  /** Also null where it may have been about what was erased, and another agent's where rules keep memories from the viewer. */
  readonly query: string | null;
  /** Null for everywhere. */
  readonly namespace: string | null;
  readonly mode: string;
  /** Why it searched by words only. */
  readonly words_only: string | null;
  readonly rows: number;
  readonly weak: boolean | null;
  readonly below_min_score: number | null;
  /** Rows that were used afterwards. */
  readonly used: number | null;
  readonly took_ms: number | null;
  readonly led_to: MemoryId | null;
}

/** The place of a recall in their list. */
export type RecallPlace = readonly [seq: number];

/** A row of a recall, with what became of it. */
export interface RecalledMemoryJson {
  readonly rank: number;
  readonly id: MemoryId;
  readonly title: string;
  readonly namespace: string;
  readonly score: number;
  readonly uses: readonly { readonly how: MemoryUse; readonly at: Instant }[];
}

/** Counts over recalls. */
export interface RecallFiguresJson {
  readonly recalls: number;
  readonly without_row: number;
  /** Answers of weak rows only. */
  readonly weak: number;
  /** By words only, whatever the reason. */
  readonly keyword: number;
  /** All rows of all answers, and those that were used. */
  readonly rows: number;
  readonly rows_used: number;
  /** Answers of which a row was used, or that led to a memory. */
  readonly answers_used: number;
  /** When the oldest of them was made. */
  readonly since: Instant | null;
}

/** Answers of recalls: with rows, with weak ones only, without any; their rows, and those that were used. */
export type RecallCounts = Readonly<Record<'found' | 'weak' | 'none' | 'rows' | 'used', number>>;

/** What is kept of a recall besides its rows (`[recall] trace`). */
export interface RecallTrace {
  /** Null where it may be about what was erased since. */
  readonly query: string | null;
  /** Where it searched, a namespace or a subtree; null for everywhere. */
  readonly namespace: string | null;
  /** Why it searched by words only; null for one by meaning too. */
  readonly wordsOnly: string | null;
  /** True where no row passed the least score, and the nearest came all the same. */
  readonly weak: boolean;
  /** Rows that scored below the least score. */
  readonly below: number;
  readonly tookMs: number;
}

/** A memory in the answer of a recall, with its score. An erased one has no id. */
export type RecalledMemory = readonly [id: string, score: number];

/** Records that a memory was written because of an earlier recall. */
export interface RecallConsumption {
  readonly recallId: string;
  /** The agent that must have made the recall; null for a caller who may see all recalls. */
  readonly agentId: AgentId | null;
  readonly memoryId: MemoryId;
  readonly consumedAt: Instant;
}

/** An agent used a memory. */
export interface UsedMemory {
  readonly agentId: AgentId;
  readonly memoryId: MemoryId;
  readonly how: MemoryUse;
  readonly at: Instant;
}

/** A use as the ledger keeps it: the first of its sort. */
export type KeptUse = readonly [id: MemoryId, how: MemoryUse, at: Instant];

/** Who asks: processes of one program that name no agent are the same. */
export const askerOf = (agentId: AgentId): AgentId => agentId.replace(/:pid-\d+(?:-[0-9a-f]{8})?$/, '');

/** True where a recall in a place looked at a namespace: a plain place stands for its ancestors too. */
export const lookedAt = (place: string | null, namespace: string): boolean =>
  place === null || isWithin(namespace, [place]) || withAncestors(place).includes(namespace);

/** The rows of an answer, from their text in the ledger. */
export const recalledFrom = (text: string): RecalledMemory[] => JSON.parse(text) as RecalledMemory[];

/** What became of the rows, from its text in the ledger. */
export const usesFrom = (text: string | null): KeptUse[] =>
  text === null ? [] : (JSON.parse(text) as KeptUse[]);
