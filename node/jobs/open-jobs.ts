import { JobDispatcher, type JobRunner } from '../../actors/core/job-dispatcher.js';
import { type JobRun, JobsQueue } from '../../actors/jobs/jobs-queue.js';
import { JOB_RUN_MS_MAX, JOB_TURNS_PER_SECOND, JOBS_AT_ONCE } from '../../protocol/base/limits.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { JOB_TYPES, type JobTypes } from '../../protocol/jobs/job-types.js';
import type { JobEnd, JobOutcome } from '../../protocol/jobs/run-jobs.js';
import type { Services } from '../pipeline/call.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import { callerOfJob, RunOfJob } from './job-work.js';
import { JOB_WORKS, type JobWorks } from './job-works.js';

export interface JobsParts {
  readonly services: Services;
  readonly scheduler: Scheduler;
  /** True while this process owns the database. */
  readonly owns: () => boolean;
  /** All types of this release when absent. */
  readonly types?: JobTypes;
  /** What the jobs of each type do. */
  readonly works?: JobWorks;
  /** Counts how runs ended. */
  readonly onEnd?: (type: string, became: JobOutcome) => void;
}

/** Does the jobs of a database in the process that owns it. */
export function openJobs(parts: JobsParts): JobDispatcher<JobRun> {
  const { services, scheduler, owns, types = JOB_TYPES, works = JOB_WORKS } = parts;
  const { store, clock, random, log } = services;
  const onEnd = parts.onEnd ?? (() => undefined);
  const runner: JobRunner<JobRun> = {
    run: async (one, stopping) => {
      const signal = stopping === undefined ? one.ended : AbortSignal.any([one.ended, stopping]);
      const end = await endOf(one, { services, types, works, signal });
      // What the stop, a pause or a cancel has cut off has no end of its own.
      if (signal.aborted && end.how === 'failed') return 'cut off';
      one.end = end;
      return end.how === 'failed' ? end.message : null;
    },
    close: () => undefined,
  };
  return new JobDispatcher({
    ...{ name: 'jobs', clock, scheduler, owns, log, policy: BACKGROUND_POLICY },
    queue: new JobsQueue({ store, types, clock, random, log, onEnd }),
    open: () => runner,
    ...{ concurrency: JOBS_AT_ONCE, turnsPerSecond: JOB_TURNS_PER_SECOND },
  });
}

export interface Running {
  readonly services: Services;
  readonly types: JobTypes;
  readonly works: JobWorks;
  readonly signal: AbortSignal;
}

/** Does one run of a job, whatever becomes of it. */
export async function endOf(
  { job, run }: Pick<JobRun, 'job' | 'run'>,
  { services, types, works, signal }: Running,
): Promise<JobEnd> {
  try {
    const input = types[job.type]!.input.safeParse(JSON.parse(job.input));
    if (!input.success) return failedBy('VALIDATION_FAILED', 'this release cannot read the input of the job');
    const deadlineMs = services.clock.monotonicMs() + JOB_RUN_MS_MAX;
    const work = works[job.type]!;
    const now = instantFromMs(services.clock.nowMs());
    const seeing = await services.reads.limited(callerOfJob(job), job.type, {}, services, now);
    if (!seeing.ok) return failedBy(seeing.error.code, seeing.error.message);
    const running = new RunOfJob({ job, run, caller: seeing.value, services, deadlineMs, signal });
    const done = await work(running, input.data as never);
    if (done.ok) return { how: 'done', result: JSON.stringify(done.value) };
    return failedBy(done.error.code, done.error.message);
  } catch (error) {
    services.log.error({ err: error, job: job.id }, 'a job failed unexpectedly');
    return failedBy('INTERNAL', 'internal error: the log of the node says more');
  }
}

const failedBy = (code: string, message: string): JobEnd => ({ how: 'failed', code, message });
