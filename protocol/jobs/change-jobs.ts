import { JOBS_CHANGED_MAX } from '../base/limits.js';
import { fail } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { changeRows, localRow, localRows } from '../decide/local-rows.js';
import type { Reading } from '../decide/reads.js';
import { type Job, type JobState, jobKind } from './job-kind.js';

export const JOB_CHANGES = ['pause', 'resume', 'cancel'] as const;
export type JobChange = (typeof JOB_CHANGES)[number];

/** Pauses, resumes or cancels one job, or those of a type, or all; of many, a part in each command. */
export interface ChangeJobs {
  readonly kind: 'change-jobs';
  readonly change: JobChange;
  readonly which: { readonly id: string } | { readonly type: string | null };
}

export interface ChangeJobsOutcome {
  readonly changed: number;
  /** True when the same command would change more. */
  readonly more: boolean;
}

/** From which states a change leads, and where to. */
const CHANGES: Readonly<Record<JobChange, { readonly from: readonly JobState[]; readonly to: JobState }>> = {
  pause: { from: ['queued', 'running'], to: 'paused' },
  resume: { from: ['paused', 'failed'], to: 'queued' },
  cancel: { from: ['queued', 'running', 'paused'], to: 'cancelled' },
};

/** A run that is under way cannot write any more after a pause or a cancel. */
function* decideChangeJobs(
  { change, which }: ChangeJobs,
  { now }: DecisionContext,
): Deciding<ChangeJobsOutcome> {
  const { from, to } = CHANGES[change];
  const set = { state: to, run: null, ended_at: to === 'cancelled' ? now : null };
  const again = change === 'resume' ? { due_at: now, attempts: 0, interruptions: 0, waits: 0 } : {};
  if ('id' in which) {
    const job = yield* localRow(jobKind, { id: which.id });
    if (job === null) return fail('NOT_FOUND', `there is no job ${which.id}`);
    if (!from.includes(job.state))
      return fail(
        'JOB_STATE_INVALID',
        `the job ${job.id} is ${job.state}; only one that is ${orOf(from)} can be ${PAST[change]}`,
      );
    return decided({ changed: 1, more: false }, [changeRows(jobKind, { id: job.id }, { ...set, ...again })]);
  }
  const ids = yield* idsIn(from, which.type);
  return decided({ changed: ids.length, more: ids.length === JOBS_CHANGED_MAX }, [
    changeRows(jobKind, { id: { in: ids } }, { ...set, ...again }),
  ]);
}

function* idsIn(states: readonly JobState[], type: string | null): Reading<readonly Job['id'][]> {
  const ids: string[] = [];
  for (const state of states) {
    const where = type === null ? { state } : { state, type };
    const limit = JOBS_CHANGED_MAX - ids.length;
    if (limit > 0)
      ids.push(...(yield* localRows(jobKind, { where, limit, only: ['id'] })).map(({ id }) => id));
  }
  return ids;
}

const PAST = { pause: 'paused', resume: 'resumed', cancel: 'cancelled' } as const;

const orOf = (words: readonly string[]): string =>
  words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

export const changeJobsCommand = defineCommand({
  kind: 'change-jobs',
  decide: decideChangeJobs,
  gate: 'no memory',
});
