import type { Viewer } from '../../protocol/base/viewer.js';
import type { RecallFilter, VectorEvidence } from '../../protocol/memory/recall-request.js';

/** The question of a recall to the semantic side. */
export interface SemanticRequest {
  readonly query: string;
  /** Recent conversation, weighted 30 to the query's 70 (interface §4.14). */
  readonly contextTokens: readonly string[];
  readonly namespace: string | null;
  readonly viewer: Viewer;
  /** When the caller is answered in any case, in monotonic milliseconds. */
  readonly deadlineMs?: number;
  /** Rows that do not pass are not used as evidence. */
  readonly filter?: RecallFilter;
}

/** Why there is no evidence: a word for `meta`, and for capabilities. */
export type SemanticAbsence = 'disabled' | 'busy' | 'failing' | 'empty' | 'unreachable';

/** The state of the semantic side, for capabilities (interface §2.12, "Embedder behaviour"). */
export interface SemanticState {
  readonly enabled: boolean;
  readonly loaded: boolean;
  readonly failing: boolean;
  readonly lastError: string | null;
  readonly model: string;
  readonly dim: number;
}

/** Finds rows by meaning; recall works without it. */
export interface SemanticIndex {
  /** Evidence for a query, or the reason why this recall works without it. Never throws. */
  evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence>;
  state(): SemanticState;
  close(): Promise<void>;
}
