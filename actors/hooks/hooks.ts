import type { HookEvent } from '../../protocol/hooks/events.js';
import type { ChainResult, Fired } from './hook-chain.js';
import type { Questions } from './questions.js';

/** How the runs of a hook went since it was registered. */
export interface HookReport {
  readonly index: number;
  readonly event: HookEvent;
  readonly command: string;
  readonly mode: 'exec' | 'daemon';
  readonly priority: number;
  readonly namespace: string;
  readonly fail_mode: 'open' | 'closed';
  readonly timeout_ms: number;
  readonly events_fired: number;
  /** Runs without a decision: failed, too slow, or without room. */
  readonly events_dropped: number;
  readonly timeouts: number;
  readonly denied: number;
  readonly mean_latency_us: number;
  readonly last_problem: string | null;
}

/** What happened and waits for its hooks: `firings` is asked when it is their turn. */
export interface Happened {
  /** About how many bytes it holds while it waits. */
  readonly bytes: number;
  readonly firings: () => Promise<readonly Fired[]>;
}

/** The hooks of a process. */
export interface Hooks {
  /** True when an enabled hook has the event; a call asks this first, so that without hooks it pays for nothing else. */
  has(event: HookEvent): boolean;
  /** Runs the chain of an event; `endMs` (monotonic) bounds the deadline of its class. */
  fire(fired: Fired, endMs?: number): Promise<ChainResult>;
  /** Tells hooks what has happened, behind the calls. */
  later(happened: Happened): void;
  /** Null where no operator can answer: the defaults apply at once. */
  readonly questions: Questions | null;
  /** How long a question waits. */
  readonly askTimeoutMs: number;
  report(): readonly HookReport[];
  /** What has happened and was dropped for lack of room. */
  readonly dropped: number;
  /** Why the file of hooks is not in use as it is now; null when it is. */
  readonly problem: string | null;
}

/** A process without hooks. */
export const NO_HOOKS: Hooks = {
  has: () => false,
  fire: () => Promise.resolve({ kind: 'allow', delta: {} }),
  later: () => undefined,
  questions: null,
  askTimeoutMs: 0,
  report: () => [],
  dropped: 0,
  problem: null,
};
