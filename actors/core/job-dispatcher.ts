import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import type { ChildSpec } from './child.js';
import { loopChild, type NextRound, type Wake } from './loop.js';
import type { RestartPolicy } from './restart-policy.js';

/** How jobs of one lane are done, for one turn. */
export interface JobRunner<Job> {
  /** Does a job once: null when it is done, else why not. Never rejects; ends when the signal says so. */
  run(job: Job, stopping?: AbortSignal): Promise<string | null>;
  close(): void;
}

/** What became of the jobs of a turn: those that are done, in their order, then at most one that failed. */
export interface TurnResult<Job> {
  readonly done: readonly Job[];
  readonly failed: { readonly job: Job; readonly error: string } | null;
}

/** The next jobs of a lane. */
export interface Turn<Job> {
  readonly jobs: readonly Job[];
  /** Records what became of them: whether that could be stored, and whether the lane has more that is due. */
  end(result: TurnResult<Job>): Promise<{ readonly recorded: boolean; readonly more: boolean }>;
}

/** A durable queue of jobs in lanes: the jobs of a lane are done one after the other, those of others at the same time. */
export interface JobQueue<Job> {
  /** Lanes whose next job is due, without those that are busy. */
  due(
    limit: number,
    busy: readonly string[],
  ): Promise<{ readonly lanes: readonly string[]; readonly afterMs: number }>;
  /** The next jobs of a lane; null when it cannot be read. */
  turn(lane: string): Promise<Turn<Job> | null>;
  /** Drops what is too old. */
  prune(busy: readonly string[]): Promise<void>;
  /** This process does not own the queue: another one may change it. */
  lost(): void;
}

export interface JobDispatcherParts<Job> {
  readonly name: string;
  readonly queue: JobQueue<Job>;
  /** What does the jobs of one turn. */
  readonly open: () => JobRunner<Job>;
  /** True while this process is the one that does the jobs of the database. */
  readonly owns: () => boolean;
  /** Lanes that are served at the same time, and turns that begin in a second. */
  readonly concurrency: number;
  readonly turnsPerSecond: number;
  readonly policy: RestartPolicy;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** How long results wait for those of later jobs: after a kill, those that wait are done again. */
const TURN_MS = 100;
/** How often a process that does not own the database looks whether it does. */
const NOT_OWNER_MS = 250;
/** A lane whose result could not be recorded rests, so that its jobs are not done without end. */
const UNRECORDED_REST_MS = 1000;

/** Does the jobs of a durable queue. A result that was not recorded makes its job be done again. */
export class JobDispatcher<Job> {
  readonly #parts: JobDispatcherParts<Job>;
  readonly #busy = new Map<string, Promise<unknown>>();
  #turns = 0;
  #turnsAtMs = 0;
  #stopping = new AbortController();
  readonly spec: ChildSpec;
  readonly #wake: Wake;

  constructor(parts: JobDispatcherParts<Job>) {
    this.#parts = parts;
    const { name, policy, clock, scheduler } = parts;
    const { spec, wake } = loopChild({
      ...{ id: name, policy, clock, scheduler },
      round: () => this.#round(),
      onStop: () => this.#stop(),
    });
    this.spec = spec;
    this.#wake = wake;
  }

  async #round(): Promise<NextRound> {
    const { queue, owns, concurrency } = this.#parts;
    if (!owns()) {
      queue.lost();
      return { afterMs: NOT_OWNER_MS };
    }
    const limit = Math.min(concurrency - this.#busy.size, this.#turnsLeft());
    const { lanes, afterMs } = await queue.due(limit, [...this.#busy.keys()]);
    for (const lane of lanes) this.#begin(lane);
    await queue.prune([...this.#busy.keys()]);
    return { afterMs };
  }

  /** How many turns may begin now. */
  #turnsLeft(): number {
    const { clock, concurrency, turnsPerSecond } = this.#parts;
    const nowMs = clock.monotonicMs();
    const gained = ((nowMs - this.#turnsAtMs) * turnsPerSecond) / 1000;
    this.#turns = Math.min(this.#turns + gained, concurrency);
    this.#turnsAtMs = nowMs;
    return Math.floor(this.#turns);
  }

  #begin(lane: string): void {
    this.#turns -= 1;
    const { signal } = this.#stopping;
    const served = this.#turn(lane, signal)
      .catch(async (error: unknown) => {
        this.#parts.log.error({ err: error, lane, queue: this.#parts.name }, 'a turn ended unexpectedly');
        await this.#rest();
        return true;
      })
      .then((isMore) => {
        this.#busy.delete(lane);
        // The next poll finds what comes after a turn that did everything: a commit for each job would slow the writes.
        if (isMore) this.#wake.now();
      });
    this.#busy.set(lane, served);
  }

  /** Does jobs of a lane, and records what became of them. True when more are due. */
  async #turn(lane: string, stopping: AbortSignal): Promise<boolean> {
    const turn = await this.#parts.queue.turn(lane);
    if (turn === null) return false;
    const result = await this.#runAll(turn.jobs, stopping);
    const { recorded, more } = await turn.end(result);
    if (!recorded) await this.#rest();
    return result.failed === null && !stopping.aborted && more;
  }

  /** Does jobs in their order until one fails or the time of the turn is over. */
  async #runAll(jobs: readonly Job[], stopping: AbortSignal): Promise<TurnResult<Job>> {
    const { clock, owns, open } = this.#parts;
    const untilMs = clock.monotonicMs() + TURN_MS;
    const done: Job[] = [];
    const runner = open();
    try {
      for (const job of jobs) {
        if (stopping.aborted || !owns()) break;
        const error = await runner.run(job, stopping);
        // What the stop has cut off is done again.
        if (error !== null) return { done, failed: stopping.aborted ? null : { job, error } };
        done.push(job);
        if (clock.monotonicMs() >= untilMs) break;
      }
    } finally {
      runner.close();
    }
    return { done, failed: null };
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#stopping;
      const end = () => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#parts.scheduler.after(UNRECORDED_REST_MS, end);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#busy.values());
    this.#stopping = new AbortController();
  }
}
