import type { Ask } from '../base/ask.js';
import type { AgentId, Instant } from '../base/meanings.js';
import type { JobState } from './job-kind.js';

/** Questions about jobs; their rows are found by `find-records`. */
export interface JobQueries {
  readonly 'due-jobs': Ask<DueJobs, DueLanes>;
  readonly 'job-totals': Ask<{ readonly kind: 'job-totals' }, { readonly totals: readonly JobTotal[] }>;
}

/** The jobs of one type and agent, which are done one after the other. */
export interface JobLane {
  readonly type: string;
  readonly caller: AgentId;
}

/** Lanes whose next job is due, beginning after the lane that was served last, so that they take turns. */
export interface DueJobs {
  readonly kind: 'due-jobs';
  /** The types whose jobs may begin. */
  readonly types: readonly string[];
  readonly busy: readonly JobLane[];
  readonly after: JobLane | null;
  readonly limit: number;
  readonly now: Instant;
  /** An instant after which no job is planned, unless the clock was set back. */
  readonly ahead: Instant;
  /** Runs under way, as this process knows. */
  readonly runs: readonly { readonly id: string; readonly run: string }[];
}

export interface DueLanes {
  readonly lanes: readonly JobLane[];
  /** Those of the runs that are under way no longer. */
  readonly ended: readonly string[];
}

/** How many jobs of a type have a state. */
export interface JobTotal {
  readonly state: JobState;
  readonly type: string;
  readonly count: number;
}
