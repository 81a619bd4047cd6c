import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import { HOOK_FAILED_CODE } from '../../protocol/hooks/decision.js';
import { CLASS_DEADLINES_MS, decides, type HookEvent, hookEventRow } from '../../protocol/hooks/events.js';
import { Mailbox } from '../core/mailbox.js';
import { type ChainResult, type Fired, runChain } from './hook-chain.js';
import type { Happened, HookReport, Hooks } from './hooks.js';
import {
  HOOK_DRAIN_MS,
  HOOK_END_MS,
  HOOK_EVENTS_RUNNING_MAX,
  HOOK_EVENTS_WAITING_BYTES_MAX,
  HOOK_EVENTS_WAITING_MAX,
} from './limits.js';
import type { Questions } from './questions.js';
import { type Executor, type HookSpec, RegisteredHook } from './registered-hook.js';

export interface HookHostParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly executorOf: (spec: HookSpec) => Executor;
  readonly questions: Questions | null;
  readonly askTimeoutMs: number;
  /** Called with every look at the hooks, to notice a change of their file. */
  readonly look: () => void;
}

/**
 * The hooks of a process: which are registered, in which order they run, and what waits for them. A chain that runs keeps
 * the hooks with which it began.
 */
export class HookHost implements Hooks {
  readonly #parts: HookHostParts;
  #hooks: readonly RegisteredHook[] = [];
  #byEvent = new Map<HookEvent, RegisteredHook[]>();
  /** True while no file could be used; then nothing guards the writes, and they are refused. */
  #isUnguarded = false;
  #isClosed = false;
  readonly #waiting = new Mailbox<Happened>({
    messagesMax: HOOK_EVENTS_WAITING_MAX,
    bytesMax: HOOK_EVENTS_WAITING_BYTES_MAX,
  });
  readonly #running = new Set<Promise<void>>();
  readonly #leaving = new Set<Promise<void>>();
  problem: string | null = null;
  dropped = 0;

  constructor(parts: HookHostParts) {
    this.#parts = parts;
  }

  get questions(): Questions | null {
    return this.#parts.questions;
  }

  get askTimeoutMs(): number {
    return this.#parts.askTimeoutMs;
  }

  /** Takes other hooks from now on. Those that did not change keep their figures and, unless told otherwise, their child. */
  replace(specs: readonly HookSpec[], restarts = false): void {
    if (this.#isClosed) return;
    const before = [...this.#hooks];
    const hooks = specs.map((spec) => {
      const at = before.findIndex((hook) => hook.isSame(spec));
      if (at < 0) return new RegisteredHook(spec, this.#parts.executorOf(spec), this.#parts.log);
      const [known] = before.splice(at, 1);
      known!.keep(spec, restarts);
      return known!;
    });
    this.#hooks = hooks;
    this.#byEvent = new Map();
    // The sort is stable: ties stay in the order of the file.
    for (const hook of hooks.toSorted((a, b) => b.spec.priority - a.spec.priority)) {
      const { event } = hook.spec;
      this.#byEvent.set(event, [...(this.#byEvent.get(event) ?? []), hook]);
    }
    this.problem = null;
    this.#isUnguarded = false;
    for (const hook of before) this.#retire(hook);
  }

  /** The file cannot be used. The hooks stay; without any file so far, writes are refused until it is corrected. */
  refuse(problem: string, isFirst: boolean): void {
    this.problem = problem;
    if (isFirst) this.#isUnguarded = true;
  }

  has(event: HookEvent): boolean {
    this.#parts.look();
    return this.#byEvent.has(event) || (this.#isUnguarded && guardsWrites(event));
  }

  fire(fired: Fired, endMs = Number.POSITIVE_INFINITY): Promise<ChainResult> {
    const { event } = fired;
    if (this.#isUnguarded && guardsWrites(event)) {
      const reason =
        'the file of hooks cannot be used, so writes are refused; "hooks check" on the node says why';
      return Promise.resolve({ kind: 'deny', reason, code: HOOK_FAILED_CODE, command: null, busy: false });
    }
    const hooks = this.#byEvent.get(event) ?? [];
    const { clock, scheduler } = this.#parts;
    const ownMs = clock.monotonicMs() + CLASS_DEADLINES_MS[hookEventRow(event).class];
    const release = hooks.map((hook) => hook.use());
    return runChain(hooks, fired, Math.min(ownMs, endMs), { clock, scheduler }).finally(() => {
      for (const done of release) done();
    });
  }

  later(happened: Happened): void {
    if (!this.#waiting.offer(happened, happened.bytes, 'interactive')) {
      this.dropped += 1;
      return;
    }
    if (this.#running.size >= HOOK_EVENTS_RUNNING_MAX) return;
    const running: Promise<void> = this.#tell().finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #tell(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting.take(1, Number.POSITIVE_INFINITY);
      if (next === undefined) return;
      try {
        for (const fired of await next.firings()) await this.fire(fired);
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'an event could not be told to its hooks');
      }
    }
  }

  report(): readonly HookReport[] {
    return this.#hooks.map((hook) => hook.report());
  }

  #retire(hook: RegisteredHook): void {
    const leaving: Promise<void> = hook.retire().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /**
   * Waits a little for what has happened to be told, then ends every child. The hooks stay registered and fail from then on,
   * so that no call that still runs passes by one that must agree.
   */
  async close(): Promise<void> {
    this.#parts.questions?.close();
    await this.#settled(this.#running, HOOK_DRAIN_MS);
    this.#isClosed = true;
    this.#waiting.close(() => {
      this.dropped += 1;
    });
    const ends = [...this.#hooks.map((hook) => hook.end()), ...this.#leaving];
    const isOver = await this.#settled(ends, HOOK_END_MS);
    if (!isOver) this.#parts.log.warn({}, 'a program of a hook did not end and is left behind');
  }

  /** False when that takes longer. */
  async #settled(ends: Iterable<Promise<void>>, withinMs: number): Promise<boolean> {
    let timer: { cancel(): void } | null = null;
    const late = new Promise<boolean>((resolve) => {
      timer = this.#parts.scheduler.after(withinMs, () => resolve(false), { keepAlive: true });
    });
    const isOver = await Promise.race([Promise.allSettled(ends).then(() => true), late]);
    timer!.cancel();
    return isOver;
  }
}

const guardsWrites = (event: HookEvent): boolean =>
  decides(event) && hookEventRow(event).class !== 'read' && hookEventRow(event).class !== 'hot';
