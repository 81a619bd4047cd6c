import type { z } from 'zod';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Job } from '../../protocol/jobs/job-kind.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';
import type { Caller } from '../identity/caller.js';
import type { Answer } from '../pipeline/answer.js';
import type { Services, Surface } from '../pipeline/call.js';
import type { Operation } from '../pipeline/operation.js';
import { runOperation } from '../pipeline/pipeline.js';

/** What a job does: its value is kept as the result of the job, its failure plans the next attempt, or ends the job. */
export type JobWork<I> = (run: RunOfJob, input: I) => Promise<Result<object>>;

export interface RunOfJobParts {
  readonly job: Job;
  readonly run: string;
  /** As whom it is done. */
  readonly caller: Caller;
  readonly services: Services;
  /** When the run should end, in monotonic milliseconds. */
  readonly deadlineMs: number;
  /** Aborts at the stop of the process, and when the job is paused or cancelled. */
  readonly signal: AbortSignal;
}

/** The caller of a job, before rules about reads limit what it sees. */
export function callerOfJob({ caller: agentId, local }: Job): Caller {
  const viewer = { all: false, agentId, asNamespace: null };
  return { agentId, claimed: 'explicit', viewer, admin: false, local };
}

/**
 * One run of a job. All that it writes, by its services or by calls, fails with JOB_ENDED once the run is over: when the job
 * was paused, cancelled, or begun again by another process.
 */
export class RunOfJob {
  readonly id: string;
  /** As the job's caller, with what that one sees. */
  readonly caller: Caller;
  readonly services: Services;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly #parts: RunOfJobParts;
  readonly #steps: Record<string, unknown>;

  constructor(parts: RunOfJobParts) {
    const { job, run, services, deadlineMs, signal } = parts;
    this.id = job.id;
    this.#parts = parts;
    this.#steps = JSON.parse(job.steps) as Record<string, unknown>;
    this.caller = parts.caller;
    this.services = { ...services, store: new StoreOfJob(services.store, { id: job.id, run }) };
    this.deadlineMs = deadlineMs;
    this.signal = signal;
  }

  /**
   * A step that is done once: a later run of the job gets what it came to. For what costs money or answers differently each
   * time; writes are repeated under their key instead (`call`).
   */
  async step<T>(step: string, shape: z.ZodType<T>, make: () => Promise<Result<T>>): Promise<Result<T>> {
    const kept = shape.safeParse(this.#steps[step]);
    if (kept.success) return ok(kept.data);
    const made = await make();
    if (!made.ok) return made;
    const { job, run, services } = this.#parts;
    const value = JSON.stringify(made.value);
    const noted = await services.store.execute({ kind: 'note-step', id: job.id, run, step, value });
    if (!noted.ok) return failed(noted.error);
    this.#steps[step] = made.value;
    return made;
  }

  /** Calls an operation as the job's caller. Ids that it makes follow from the job and the name, so a repeated call makes them again. */
  call(
    operation: Operation,
    {
      name,
      input,
      caller = this.caller,
    }: { readonly name: string; readonly input: object; readonly caller?: Caller },
  ): Promise<Answer> {
    const { job } = this.#parts;
    const surface: Surface = caller.local ? 'mcp' : 'http';
    const request = {
      ...{
        surface,
        caller,
        input: { ...input },
        unknownFields: 'refuse' as const,
        deadlineMs: this.deadlineMs,
        tracedAs: 'job',
      },
      ...{ key: `job ${job.id} ${name}`, again: job.runs > 1 },
    };
    return runOperation(operation, request, this.services);
  }
}

/** The store of a job: its commands do nothing once the run is over. */
class StoreOfJob extends PassingStore {
  constructor(
    store: Store,
    private readonly job: { readonly id: string; readonly run: string },
  ) {
    super(store);
  }

  execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    return this.store.execute({ ...command, job: this.job }, options);
  }
}
