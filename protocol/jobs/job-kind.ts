import type { AgentId, Instant } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

export const JOB_STATES = ['queued', 'running', 'paused', 'done', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Work that a process which owns the database does later, in the name of an agent. Local to its node. */
export interface Job {
  /** `<type>:<name of the work>`: the same work is queued once. */
  readonly id: string;
  readonly type: string;
  readonly state: JobState;
  readonly caller: AgentId;
  /** True when it was asked for on this machine (MCP, command line). */
  readonly local: boolean;
  /** JSON. */
  readonly input: string;
  /** A queued job does not begin before. */
  readonly due_at: Instant;
  readonly created_at: Instant;
  readonly ended_at: Instant | null;
  /** How often it began, how often it failed, and how often its process ended meanwhile. */
  readonly runs: number;
  readonly attempts: number;
  readonly interruptions: number;
  /** How often it found that what it needs is not there. */
  readonly waits: number;
  /** The run under way; another run, or none, ends the writes of this one. */
  readonly run: string | null;
  /** JSON: what the steps of the job came to that are done, by their names. */
  readonly steps: string;
  readonly error_code: string | null;
  readonly error: string | null;
  /** JSON. */
  readonly result: string | null;
}

export const jobKind = localKind<Job>({
  name: 'job',
  table: 'jobs',
  key: ['id'],
  members: {
    ...{ id: 'text', type: 'text', state: 'text', caller: 'text', local: 'boolean', input: 'text' },
    ...{ due_at: 'text', created_at: 'text', ended_at: 'text?' },
    ...{ runs: 'integer', attempts: 'integer', interruptions: 'integer', waits: 'integer' },
    ...{ run: 'text?', steps: 'text', error_code: 'text?', error: 'text?', result: 'text?' },
  },
  indexes: [['state', 'type', 'caller', 'due_at'], ['created_at'], ['ended_at']],
});
