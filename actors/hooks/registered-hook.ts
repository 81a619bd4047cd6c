import type { Log } from '../../protocol/base/seams.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import { matchesGlob } from '../../protocol/rules/glob.js';
import type { ChainHook, HookOutput, RunNote, RunTime } from './hook-chain.js';
import type { HookReport } from './hooks.js';

/** A hook as its file declares it. */
export interface HookSpec {
  /** Its place in the file. */
  readonly index: number;
  readonly event: HookEvent;
  readonly command: string;
  readonly priority: number;
  readonly timeoutMs: number;
  readonly mode: 'exec' | 'daemon';
  /** A pattern; `*` is every namespace. */
  readonly namespace: string;
  readonly failMode: 'open' | 'closed';
}

/** Runs the program of a hook. Never rejects. */
export interface Executor {
  run(line: string, time: RunTime): Promise<HookOutput>;
  /** Forgets failed starts, so that the next run tries again; `restarts` gives it a new child, after the run under way. */
  revive?(restarts: boolean): void;
  /** Ends its children and theirs. */
  close(): Promise<void>;
}

/** A hook that runs, with its figures. */
export class RegisteredHook implements ChainHook {
  #fired = 0;
  #dropped = 0;
  #timeouts = 0;
  #denied = 0;
  #tookMs = 0;
  #lastProblem: string | null = null;
  /** Chains that use it. */
  #users = 0;
  #whenUnused: (() => void) | null = null;
  #hasEnded = false;

  constructor(
    public spec: HookSpec,
    private readonly executor: Executor,
    private readonly log: Log,
  ) {}

  /** True for an entry that says the same; its place in the file may be another. */
  isSame(spec: HookSpec): boolean {
    return JSON.stringify({ ...spec, index: 0 }) === JSON.stringify({ ...this.spec, index: 0 });
  }

  /** The file was read again, and the hook is still in it. */
  keep(spec: HookSpec, restarts: boolean): void {
    this.spec = spec;
    this.executor.revive?.(restarts);
  }

  get command(): string {
    return this.spec.command;
  }

  get timeoutMs(): number {
    return this.spec.timeoutMs;
  }

  get failMode(): 'open' | 'closed' {
    return this.spec.failMode;
  }

  isAbout(namespace: string | null): boolean {
    const { namespace: pattern } = this.spec;
    return pattern === '*' || pattern === '**' || (namespace !== null && matchesGlob(pattern, namespace));
  }

  run(line: string, time: RunTime): Promise<HookOutput> {
    if (this.#hasEnded) return Promise.resolve({ kind: 'failed', problem: 'the node is shutting down' });
    return this.executor.run(line, time);
  }

  note({ tookMs, outcome, problem }: RunNote): void {
    this.#fired += 1;
    this.#tookMs += tookMs;
    if (outcome === 'deny') this.#denied += 1;
    if (outcome === 'timeout') this.#timeouts += 1;
    if (outcome === 'timeout' || outcome === 'busy' || outcome === 'failed') this.#dropped += 1;
    const isNews = problem !== null && problem !== this.#lastProblem;
    if (problem !== null) this.#lastProblem = problem;
    if (!isNews) return;
    const { event, command, failMode } = this.spec;
    this.log.warn(
      { event, command, fail_mode: failMode, outcome, problem },
      'a hook did not decide as it should',
    );
  }

  /** Keeps its child while a chain runs; the answer lets it go. */
  use(): () => void {
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#users === 0) this.#whenUnused?.();
    };
  }

  /** Ends when the chains that use it have ended. */
  async retire(): Promise<void> {
    if (this.#users > 0) {
      await new Promise<void>((resolve) => {
        this.#whenUnused = resolve;
      });
    }
    await this.end();
  }

  end(): Promise<void> {
    this.#hasEnded = true;
    return this.executor.close();
  }

  report(): HookReport {
    const { index, event, command, mode, priority, namespace, failMode, timeoutMs } = this.spec;
    return {
      ...{ index, event, command, mode, priority, namespace },
      fail_mode: failMode,
      timeout_ms: timeoutMs,
      events_fired: this.#fired,
      events_dropped: this.#dropped,
      timeouts: this.#timeouts,
      denied: this.#denied,
      mean_latency_us: this.#fired === 0 ? 0 : Math.round((this.#tookMs * 1000) / this.#fired),
      last_problem: this.#lastProblem,
    };
  }
}
