import {
  JOB_AHEAD_MS_MAX,
  JOB_KEPT_SECONDS,
  JOB_POLL_MS,
  JOB_PRUNE_MS,
  JOB_ROOM_MS,
  JOBS_FAILED_TOGETHER,
} from '../../protocol/base/limits.js';
import type { Instant } from '../../protocol/base/meanings.js';
import type { Clock, Log, Random } from '../../protocol/base/seams.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { Job } from '../../protocol/jobs/job-kind.js';
import { attemptsOf, type JobTypes } from '../../protocol/jobs/job-types.js';
import type { JobLane } from '../../protocol/jobs/queries.js';
import type { JobEnd, JobOutcome } from '../../protocol/jobs/run-jobs.js';
import type { Store } from '../../storage/port.js';
import type { JobQueue, Turn } from '../core/job-dispatcher.js';

/** A run of a job that is under way. */
export interface JobRun {
  readonly job: Job;
  readonly run: string;
  /** Aborts when the job is paused or cancelled. */
  readonly ended: AbortSignal;
  /** How it ended, as who ran it says; null while it runs, and when it was cut off. */
  end: JobEnd | null;
}

export interface JobsQueueParts {
  readonly store: Pick<Store, 'query' | 'execute'>;
  readonly types: JobTypes;
  readonly onEnd: (type: string, became: JobOutcome) => void;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  readonly log: Log;
}

/**
 * The rows of jobs as a queue: a lane for each type and agent, so that no agent waits for all jobs of another. A run
 * is recorded when it begins; what the process before did not end is queued again.
 */
export class JobsQueue implements JobQueue<JobRun> {
  readonly #parts: JobsQueueParts;
  readonly #running = new Map<string, { readonly id: string; readonly abort: AbortController }>();
  /** What jobs need that is missing, by the lane of their types: until when they wait, and how often in a row it was. */
  readonly #missing = new Map<string, { readonly until: Instant; readonly times: number }>();
  /** Jobs of a lane that failed since one was done. */
  readonly #failing = new Map<string, Set<string>>();
  #last: JobLane | null = null;
  /** False while jobs may be marked as running that no process runs. */
  #released = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #prunedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: JobsQueueParts) {
    this.#parts = parts;
  }

  lost(): void {
    this.#released = false;
    this.#missing.clear();
    this.#failing.clear();
    for (const { abort } of this.#running.values()) abort.abort();
  }

  async due(limit: number, busy: readonly string[]) {
    const { store, clock, types } = this.#parts;
    const isLate = clock.monotonicMs() >= this.#lookedMs + JOB_POLL_MS;
    if (limit <= 0 && !isLate) return { lanes: [], afterMs: JOB_ROOM_MS };
    this.#lookedMs = clock.monotonicMs();
    if (!this.#released) {
      const keep = [...this.#running.keys()];
      this.#released = (await store.execute({ kind: 'release-jobs', keep }, BACKGROUND)).ok;
    }
    const nowMs = clock.nowMs();
    const now = instantFromMs(nowMs);
    const found = await store.query(
      {
        kind: 'due-jobs',
        types: Object.keys(types).filter((type) => !this.#isMissing(type, now)),
        busy: busy.map(laneOf),
        after: this.#last,
        limit: Math.max(0, limit),
        ...{ now, ahead: instantFromMs(nowMs + JOB_AHEAD_MS_MAX) },
        runs: [...this.#running].map(([run, { id }]) => ({ id, run })),
      },
      BACKGROUND,
    );
    if (!found.ok) return { lanes: [], afterMs: JOB_POLL_MS };
    const { lanes, ended } = found.value;
    for (const run of ended) this.#running.get(run)?.abort.abort();
    this.#last = lanes.at(-1) ?? this.#last;
    return { lanes: lanes.map(nameOf), afterMs: lanes.length < limit ? JOB_POLL_MS : JOB_ROOM_MS };
  }

  #isMissing(type: string, now: string): boolean {
    return now < (this.#missing.get(this.#parts.types[type]!.lane)?.until ?? '');
  }

  async turn(name: string): Promise<Turn<JobRun> | null> {
    const { store, random } = this.#parts;
    const { type, caller } = laneOf(name);
    const run = random.uuid();
    const abort = new AbortController();
    const begun = await store.execute({ kind: 'begin-job', type, caller, run }, BACKGROUND);
    // What was begun without an answer is queued again by the next round.
    if (!begun.ok) this.#released = false;
    const job = begun.ok ? begun.value.job : null;
    if (job === null) return null;
    this.#running.set(run, { id: job.id, abort });
    const one: JobRun = { job, run, ended: abort.signal, end: null };
    return { jobs: [one], end: () => this.#end(one) };
  }

  async #end({ job, run, end }: JobRun) {
    const { store, types, onEnd, log } = this.#parts;
    const { lane } = types[job.type]!;
    const attemptsMax = attemptsOf(job, types);
    const missed = this.#missing.get(lane)?.times ?? 0;
    const failsForAll = this.#failsForAll(lane, job.id, end);
    const how = end ?? ({ how: 'cut' } as const);
    const ending = { kind: 'end-job', id: job.id, run, end: how, attemptsMax, missed, failsForAll } as const;
    const ended = await store.execute(ending, BACKGROUND);
    this.#running.delete(run);
    if (!ended.ok) {
      this.#released = false;
      log.warn(
        { job: job.id, code: ended.error.code },
        'the end of a job was not recorded: it is done again',
      );
      return { recorded: false, more: true };
    }
    const { became, missingUntil } = ended.value;
    onEnd(job.type, became);
    if (became === 'failed')
      log.warn({ job: job.id, end }, 'a job failed and is given up: "mnemesh jobs show" says why');
    if (missingUntil !== null) this.#noteMissing(lane, missingUntil);
    else if (became === 'done') this.#works(lane);
    return { recorded: true, more: true };
  }

  /** A model that refuses every question, say: then its jobs wait instead of using up their attempts. */
  #failsForAll(lane: string, id: string, end: JobEnd | null): boolean {
    if (end?.how !== 'failed' || end.code !== 'LLM_FAILED') return false;
    const failing = this.#failing.get(lane) ?? new Set();
    this.#failing.set(lane, failing.add(id));
    return failing.size >= JOBS_FAILED_TOGETHER;
  }

  #works(lane: string): void {
    this.#missing.delete(lane);
    this.#failing.delete(lane);
  }

  /** Jobs that ran at the same time have missed it together. */
  #noteMissing(lane: string, until: Instant): void {
    const before = this.#missing.get(lane);
    const isAgain = before === undefined || before.until <= instantFromMs(this.#parts.clock.nowMs());
    this.#missing.set(lane, isAgain ? { until, times: (before?.times ?? 0) + 1 } : { ...before, until });
  }

  async prune(): Promise<void> {
    const { store, clock } = this.#parts;
    if (clock.monotonicMs() < this.#prunedMs + JOB_PRUNE_MS) return;
    this.#prunedMs = clock.monotonicMs();
    const before = instantAfter(instantFromMs(clock.nowMs()), -JOB_KEPT_SECONDS);
    const pruned = await store.execute({ kind: 'prune-jobs', before }, BACKGROUND);
    if (pruned.ok && pruned.value.more) this.#prunedMs = Number.NEGATIVE_INFINITY;
  }
}

const BACKGROUND = { lane: 'background' } as const;

/** The name of a lane: a type has no space. */
const nameOf = ({ type, caller }: JobLane): string => `${type} ${caller}`;

function laneOf(name: string): JobLane {
  const at = name.indexOf(' ');
  return { type: name.slice(0, at), caller: name.slice(at + 1) };
}
