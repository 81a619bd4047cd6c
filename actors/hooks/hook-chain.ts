import type { Clock, Scheduler } from '../../protocol/base/seams.js';
import {
  decodeDecision,
  HOOK_FAILED_CODE,
  HOOK_TIMEOUT_CODE,
  type HookAsk,
  type HookDecision,
  type HookPayload,
} from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';

/** What became of one run of a hook. */
export type HookOutput =
  | { readonly kind: 'said'; readonly text: string }
  | { readonly kind: 'timeout' }
  /** Too many runs wait already. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly problem: string };

/**
 * The time of a run, in milliseconds. What it waits for its place is not its own time: a run that did not get one in time is
 * `busy`, and only one that was under way so long is a `timeout`.
 */
export interface RunTime {
  /** From now, the wait for a place included. */
  readonly leftMs: number;
  /** From its beginning. */
  readonly ownMs: number;
}

/** A hook, as far as the chain needs it. */
export interface ChainHook {
  readonly command: string;
  readonly timeoutMs: number;
  readonly failMode: 'open' | 'closed';
  /** Whether it is about calls in a namespace; null for a call that names none. */
  readonly isAbout: (namespace: string | null) => boolean;
  readonly run: (line: string, time: RunTime) => Promise<HookOutput>;
  /** Hears how a run went. */
  readonly note: (run: RunNote) => void;
}

export interface RunNote {
  readonly tookMs: number;
  readonly outcome: 'allow' | 'modify' | 'deny' | 'ask_user' | 'timeout' | 'busy' | 'failed';
  /** What went wrong, or was ignored; null when nothing. */
  readonly problem: string | null;
}

export interface QueuedAsk extends HookAsk {
  readonly origin_command: string;
}

export interface HookDenial {
  readonly reason: string;
  readonly code: number;
  /** The hook that denies; null where the file of hooks cannot be used. */
  readonly command: string | null;
  /** True when the hook could not be run for lack of room. */
  readonly busy: boolean;
  /** True where the hook asks the operator, who is not asked about this event; the reason is the question. */
  readonly asks?: true;
}

/** What all hooks of an event together decide (reference-mcp-cli §3.4). An empty delta changes nothing. */
export type ChainResult =
  | { readonly kind: 'allow'; readonly delta: HookPayload }
  | ({ readonly kind: 'deny' } & HookDenial)
  | { readonly kind: 'ask'; readonly queued: readonly QueuedAsk[]; readonly delta: HookPayload };

export interface ChainSeams {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
}

/** What is fired. */
export interface Fired {
  readonly event: HookEvent;
  readonly namespace: string | null;
  readonly payload: HookPayload;
  /** True for what may concern every namespace: it meets every hook of the event, whatever its pattern. */
  readonly everywhere?: true;
}

/**
 * Runs hooks in their order. A modify changes what the next hook sees; the first deny ends the chain; an allow or a modify
 * takes back the questions before it; a hook that says nothing does not. A hook that fails has no say, unless it is
 * fail-closed: then it denies. One that could not be run because others were denies whatever its fail mode: else callers
 * could pass a guard by keeping it busy.
 */
export async function runChain(
  hooks: readonly ChainHook[],
  { event, namespace, payload, everywhere }: Fired,
  deadlineMs: number,
  seams: ChainSeams,
): Promise<ChainResult> {
  let delta: HookPayload = {};
  let queued: QueuedAsk[] = [];
  for (const hook of hooks) {
    const moved = delta['namespace'];
    const isAbout = everywhere === true || hook.isAbout(typeof moved === 'string' ? moved : namespace);
    if (!isAbout) continue;
    const line = JSON.stringify({ event, payload: { ...payload, ...delta } });
    const said = await runOne(hook, line, event, deadlineMs, seams);
    if (said === null) continue;
    if (said.action === 'deny') {
      const { reason, code } = said;
      return { kind: 'deny', reason, code, command: hook.command, busy: 'busy' in said };
    }
    if (said.action === 'ask_user') queued.push({ ...said.ask, origin_command: hook.command });
    else queued = [];
    if (said.action === 'modify') delta = { ...delta, ...said.delta };
  }
  return queued.length > 0 ? { kind: 'ask', queued, delta } : { kind: 'allow', delta };
}

type Denied = Extract<HookDecision, { readonly action: 'deny' }> & { readonly busy?: true };

/** What one hook decides; null for one that says nothing, or failed and is fail-open. */
async function runOne(
  hook: ChainHook,
  line: string,
  event: HookEvent,
  deadlineMs: number,
  { clock, scheduler }: ChainSeams,
): Promise<Exclude<HookDecision, { readonly action: 'deny' }> | Denied | null> {
  const beganMs = clock.monotonicMs();
  const leftMs = deadlineMs - beganMs;
  const ownMs = Math.min(hook.timeoutMs, leftMs);
  const output: HookOutput =
    leftMs > 0 ? await runWithin(hook, line, { leftMs, ownMs }, scheduler) : { kind: 'timeout' };
  const tookMs = clock.monotonicMs() - beganMs;
  if (output.kind === 'said') {
    const decoded = decodeDecision(output.text, event);
    if ('decision' in decoded) {
      const { decision, warning = null } = decoded;
      hook.note({ tookMs, outcome: decision?.action ?? 'allow', problem: warning });
      return decision;
    }
    hook.note({ tookMs, outcome: 'failed', problem: decoded.problem });
    return closed(hook, HOOK_FAILED_CODE, 'failed');
  }
  if (output.kind === 'timeout') {
    const problem = `it did not answer in ${Math.max(0, Math.round(ownMs))} ms`;
    hook.note({ tookMs, outcome: 'timeout', problem });
    return closed(hook, HOOK_TIMEOUT_CODE, 'did not answer in time');
  }
  if (output.kind === 'busy') {
    hook.note({ tookMs, outcome: 'busy', problem: 'its runs wait for those before them' });
    return { action: 'deny', reason: 'too many runs of hooks wait', code: HOOK_FAILED_CODE, busy: true };
  }
  hook.note({ tookMs, outcome: 'failed', problem: output.problem });
  return closed(hook, HOOK_FAILED_CODE, 'failed');
}

/** How long a run may say late that it ends. */
const LATE_MS = 100;

/** A run does not outlast its time, whatever its executor does. One that the node hears of too late has not failed. */
function runWithin(hook: ChainHook, line: string, time: RunTime, scheduler: Scheduler): Promise<HookOutput> {
  return new Promise((resolve) => {
    const timer = scheduler.after(time.leftMs + LATE_MS, () => resolve({ kind: 'busy' }), {
      keepAlive: true,
    });
    const settle = (output: HookOutput) => {
      timer.cancel();
      resolve(output);
    };
    hook
      .run(line, time)
      .then(settle, (error: unknown) => settle({ kind: 'failed', problem: `it could not be run: ${error}` }));
  });
}

/** Callers do not hear why: the problem may quote the standard error of a program, or name files of the operator. */
const closed = ({ failMode }: ChainHook, code: number, what: string): Denied | null =>
  failMode === 'open' ? null : { action: 'deny', reason: `a hook that must agree ${what}`, code };
