import type { Ask } from '../base/ask.js';
import type { AgentId, Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';

/** Queries of confidences, each with its answer. */
export interface ConfidenceQueries {
  readonly 'calibrate-confidence': Ask<CalibrateConfidence, Calibration>;
}

/** What was observed since an instant of memories that the viewer may see, by namespace and source. */
export interface CalibrateConfidence {
  readonly kind: 'calibrate-confidence';
  readonly since: Instant;
  /** Whose recalls count; null for those of all agents. */
  readonly agentId: AgentId | null;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface Calibration {
  readonly total: number;
  /** The most observed first; those beyond a limit are left out. */
  readonly baselines: readonly Baseline[];
  readonly truncated: boolean;
}

/** What the signals say of the memories of one source in one namespace, beside what callers said of them. */
export interface Baseline {
  readonly namespace: string;
  readonly source: string;
  readonly count: number;
  /** Of the derived confidences. */
  readonly median: number;
  readonly mean: number;
  /** How many derived confidences are in each tenth from 0 to 1. */
  readonly buckets: readonly number[];
  readonly stated_median: number;
  readonly stated_mean: number;
}
