import { JOB_INPUT_BYTES_MAX } from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { utf8Bytes } from '../base/utf8.js';
import { localRow, putRow } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { type Job, jobKind } from './job-kind.js';
import type { JobInput, JobTypeName } from './job-types.js';

/** Work to be done later. */
export interface JobOrder<T extends JobTypeName = JobTypeName> {
  readonly type: T;
  /** Names the work among those of the type: the same work is queued once. */
  readonly name: string;
  readonly input: JobInput<T>;
  /** In whose name it is done. */
  readonly caller: AgentId;
  /** True when it was asked for on this machine (MCP, command line). */
  readonly local: boolean;
}

/** Queues a job in the transaction of what causes it; nothing for work that was queued before. */
export function* enqueued<T extends JobTypeName>(
  { type, name, input, caller, local }: JobOrder<T>,
  now: Instant,
): Reading<readonly Mutation[]> {
  const id = `${type}:${name}`;
  if ((yield* localRow(jobKind, { id })) !== null) return [];
  const text = JSON.stringify(input);
  if (utf8Bytes(text) > JOB_INPUT_BYTES_MAX) throw new Error(`the input of the job ${id} is too large`);
  return [putRow(jobKind, { ...newJob, id, type, caller, local, input: text, due_at: now, created_at: now })];
}

const newJob: Pick<
  Job,
  Exclude<keyof Job, 'id' | 'type' | 'caller' | 'local' | 'input' | 'due_at' | 'created_at'>
> = {
  ...{ state: 'queued', ended_at: null, runs: 0, attempts: 0, interruptions: 0, waits: 0, run: null },
  ...{ steps: '{}', error_code: null, error: null, result: null },
};
