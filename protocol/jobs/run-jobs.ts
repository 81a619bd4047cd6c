import {
  JOB_AHEAD_MS_MAX,
  JOB_ERROR_LENGTH_MAX,
  JOB_INTERRUPTIONS_MAX,
  JOB_RESULT_BYTES_MAX,
  JOB_RETRY_MS,
  JOB_RETRY_MS_MAX,
  JOB_STEPS_BYTES_MAX,
  JOB_WAIT_MS,
  JOB_WAIT_MS_MAX,
  JOBS_CHANGED_MAX,
} from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { instantFromMs } from '../base/time.js';
import { utf8Bytes } from '../base/utf8.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, type Done, decided } from '../decide/deciding.js';
import { dropRows, localRows, putRow } from '../decide/local-rows.js';
import { type Job, jobKind } from './job-kind.js';
import { type RunningJob, runningJob } from './running-job.js';

/** Begins the next due job of a type and agent. */
export interface BeginJob {
  readonly kind: 'begin-job';
  readonly type: string;
  readonly caller: AgentId;
  /** Names the run; no other run has the name. */
  readonly run: string;
}

/** Keeps what a step of a running job came to, so that another run does not do the step again. */
export interface NoteStep extends RunningJob {
  readonly kind: 'note-step';
  readonly step: string;
  /** JSON. */
  readonly value: string;
}

/** How a run ended. `cut` is one that a stop of the process ended. */
export type JobEnd =
  | { readonly how: 'done'; readonly result: string }
  | { readonly how: 'failed'; readonly code: string; readonly message: string }
  | { readonly how: 'cut' };

/** Records how a run ended, and plans the next one where there is one. */
export interface EndJob extends RunningJob {
  readonly kind: 'end-job';
  readonly end: JobEnd;
  /** Failures after which the job is given up. */
  readonly attemptsMax: number;
  /** How often in a row jobs have found that what this one needs is not there. */
  readonly missed: number;
  /** True where so many jobs fail that the fault is not theirs. */
  readonly failsForAll: boolean;
}

/** What became of a job; `gone` for one that another run, a pause or a cancel has taken from this run. */
export type JobOutcome = 'done' | 'retry' | 'waits' | 'failed' | 'cut' | 'gone';

export interface EndJobOutcome {
  readonly became: JobOutcome;
  /** When other jobs that need the same may begin; null where nothing is missing. */
  readonly missingUntil: Instant | null;
}

/** Queues running jobs whose process has ended: all but those of the runs that are named. */
export interface ReleaseJobs {
  readonly kind: 'release-jobs';
  readonly keep: readonly string[];
}

/** Drops jobs that ended before an instant. */
export interface PruneJobs {
  readonly kind: 'prune-jobs';
  readonly before: Instant;
}

function* decideBeginJob(
  { type, caller, run }: BeginJob,
  { now, nowMs }: DecisionContext,
): Deciding<{ readonly job: Job | null }> {
  const where = { state: 'queued', type, caller };
  const [next] = yield* localRows(jobKind, { where, order: { by: 'due_at' }, limit: 1 });
  if (next === undefined || !isDue(next, now, nowMs)) return decided({ job: null }, []);
  const job: Job = { ...next, state: 'running', run, runs: next.runs + 1 };
  return decided({ job }, [putRow(jobKind, job)]);
}

const isDue = ({ due_at }: Job, now: Instant, nowMs: number): boolean =>
  due_at <= now || due_at > instantFromMs(nowMs + JOB_AHEAD_MS_MAX);

function* decideNoteStep({ id, run, step, value }: NoteStep): Deciding<Done> {
  const job = yield* runningJob({ id, run });
  if (!job.ok) return job;
  const steps = JSON.stringify({
    ...(JSON.parse(job.value.steps) as object),
    [step]: JSON.parse(value) as unknown,
  });
  if (utf8Bytes(steps) > JOB_STEPS_BYTES_MAX)
    return fail(
      'PAYLOAD_TOO_LARGE',
      `the steps of the job ${id} hold more than ${JOB_STEPS_BYTES_MAX} bytes`,
    );
  return decided({}, [putRow(jobKind, { ...job.value, steps })]);
}

function* decideEndJob(
  { id, run, end, ...limits }: EndJob,
  context: DecisionContext,
): Deciding<EndJobOutcome> {
  const job = yield* runningJob({ id, run });
  if (!job.ok) return decided({ became: 'gone', missingUntil: null }, []);
  const { became, missingUntil = null, ...changed } = afterRun(job.value, end, limits, context);
  return decided({ became, missingUntil }, [putRow(jobKind, { ...job.value, run: null, ...changed })]);
}

type Changed = Partial<Job> & { readonly became: JobOutcome; readonly missingUntil?: Instant };

function afterRun(
  job: Job,
  end: JobEnd,
  { attemptsMax, missed, failsForAll }: Pick<EndJob, 'attemptsMax' | 'missed' | 'failsForAll'>,
  { now, nowMs }: DecisionContext,
): Changed {
  if (end.how === 'cut') return { became: 'cut', state: 'queued', due_at: now };
  if (end.how === 'done') {
    const fits = utf8Bytes(end.result) <= JOB_RESULT_BYTES_MAX;
    const result = fits ? end.result : '{"truncated":true}';
    return {
      became: 'done',
      state: 'done',
      ended_at: now,
      result,
      steps: '{}',
      error_code: null,
      error: null,
    };
  }
  const error = { error_code: end.code, error: end.message.slice(0, JOB_ERROR_LENGTH_MAX) };
  if (end.code === 'LLM_LIMIT') {
    const due_at = nextDay(nowMs);
    return { became: 'waits', state: 'queued', ...error, waits: job.waits + 1, due_at, missingUntil: due_at };
  }
  if (failsForAll || MISSING.has(end.code)) {
    const due_at = instantFromMs(nowMs + grown(JOB_WAIT_MS, missed, JOB_WAIT_MS_MAX));
    return { became: 'waits', state: 'queued', ...error, waits: job.waits + 1, due_at, missingUntil: due_at };
  }
  const attempts = job.attempts + 1;
  if (attempts >= attemptsMax)
    return { became: 'failed', state: 'failed', ...error, attempts, ended_at: now };
  const due_at = instantFromMs(nowMs + grown(JOB_RETRY_MS, job.attempts, JOB_RETRY_MS_MAX));
  return { became: 'retry', state: 'queued', ...error, attempts, due_at };
}

/** Failures that say that something is not there now: they are no fault of the job. */
const MISSING: ReadonlySet<string> = new Set([
  ...['LLM_UNAVAILABLE', 'UNAVAILABLE', 'OVERLOADED', 'SHUTTING_DOWN', 'STORAGE_FULL', 'STORAGE_READ_ONLY'],
  ...['CLOCK_AHEAD', 'HOME_UNREACHABLE'],
]);

const grown = (firstMs: number, times: number, maxMs: number): number =>
  Math.min(firstMs * 2 ** Math.min(times, 30), maxMs);

const DAY_MS = 86_400_000;

/** The next midnight, UTC, when a new day's requests can be used. */
const nextDay = (nowMs: number): Instant => instantFromMs((Math.floor(nowMs / DAY_MS) + 1) * DAY_MS);

function* decideReleaseJobs(
  { keep }: ReleaseJobs,
  { now }: DecisionContext,
): Deciding<{ readonly released: number }> {
  const running = yield* localRows(jobKind, { where: { state: 'running' }, limit: JOBS_CHANGED_MAX });
  const ended = running.filter(({ run }) => !keep.includes(run ?? ''));
  const released = ended.map((job) => {
    const interruptions = job.interruptions + 1;
    if (interruptions < JOB_INTERRUPTIONS_MAX)
      return { ...job, run: null, state: 'queued' as const, interruptions, due_at: now };
    const error = `the process ended ${interruptions} times while the job ran`;
    return {
      ...job,
      run: null,
      state: 'failed' as const,
      interruptions,
      ended_at: now,
      error_code: 'INTERNAL',
      error,
    };
  });
  return decided(
    { released: released.length },
    released.map((job) => putRow(jobKind, job)),
  );
}

function* decidePruneJobs({ before }: PruneJobs): Deciding<{ readonly more: boolean }> {
  const old = yield* localRows(jobKind, {
    ...{ where: { ended_at: { before } }, order: { by: 'ended_at' }, limit: JOBS_CHANGED_MAX, only: ['id'] },
  });
  return decided({ more: old.length === JOBS_CHANGED_MAX }, [
    dropRows(jobKind, { id: { in: old.map(({ id }) => id) } }),
  ]);
}

export const beginJobCommand = defineCommand({ kind: 'begin-job', decide: decideBeginJob, gate: 'upkeep' });
export const noteStepCommand = defineCommand({ kind: 'note-step', decide: decideNoteStep, gate: 'upkeep' });
export const endJobCommand = defineCommand({ kind: 'end-job', decide: decideEndJob, gate: 'upkeep' });
export const releaseJobsCommand = defineCommand({
  kind: 'release-jobs',
  decide: decideReleaseJobs,
  gate: 'upkeep',
});
export const pruneJobsCommand = defineCommand({
  kind: 'prune-jobs',
  decide: decidePruneJobs,
  gate: 'upkeep',
});
