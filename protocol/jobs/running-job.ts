import { fail, ok, type Result } from '../base/result.js';
import { localRow } from '../decide/local-rows.js';
import type { Reading } from '../decide/reads.js';
import { type Job, jobKind } from './job-kind.js';

/** A run of a job, which may write only while it is the run under way. */
export interface RunningJob {
  readonly id: string;
  readonly run: string;
}

/** The job of a run; JOB_ENDED when the run is not the one under way. */
export function* runningJob({ id, run }: RunningJob): Reading<Result<Job>> {
  const job = yield* localRow(jobKind, { id });
  return job?.state === 'running' && job.run === run
    ? ok(job)
    : fail(
        'JOB_ENDED',
        `the job ${id} is ${job?.state ?? 'gone'}, or another run of it began; nothing was done`,
      );
}
