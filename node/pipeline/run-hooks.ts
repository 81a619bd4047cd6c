import type { ChainResult, Fired, HookDenial } from '../../actors/hooks/hook-chain.js';
import type { Hooks } from '../../actors/hooks/hooks.js';
import { HOOK_QUESTION_MARGIN_MS } from '../../actors/hooks/limits.js';
import { usualAnswer } from '../../actors/hooks/questions.js';
import type { AgentId, Instant } from '../../protocol/base/meanings.js';
import { type Failure, failure } from '../../protocol/base/result.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { HOOK_DENY_CODE, type HookPayload } from '../../protocol/hooks/decision.js';
import { type HookEvent, hookEventRow } from '../../protocol/hooks/events.js';
import type { Store } from '../../storage/port.js';

/** What runs the hooks of one call. */
export interface HookRun {
  readonly hooks: Hooks;
  /** Takes the record of a denial. */
  readonly store: Pick<Store, 'execute'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  readonly agentId: AgentId;
  /** The instant of the call. */
  readonly now: Instant;
  /** When the caller is answered in any case, monotonic. */
  readonly endMs: number | undefined;
}

/** What hooks leave of what was fired: go on with what they rewrote, or a denial. */
export type HookVerdict = { readonly delta: HookPayload } | { readonly denial: HookDenial };

/** Runs the hooks of an event, asks the operator where they want that, and records a denial. */
export async function consult(run: HookRun, fired: Fired): Promise<HookVerdict> {
  const result = await run.hooks.fire(fired, run.endMs);
  if (result.kind === 'allow') return { delta: result.delta };
  const denial = result.kind === 'deny' ? result : await askAll(run, fired, result);
  if (denial === null) return { delta: result.kind === 'ask' ? result.delta : {} };
  const { command, code, busy } = denial;
  if (command !== null && !busy) {
    const { event, namespace } = fired;
    const noting = note(run, { kind: 'note-veto', agentId: run.agentId, event, namespace, command, code });
    if (isRead(event)) void noting;
    else await noting;
  }
  return { denial };
}

type Asking = Extract<ChainResult, { readonly kind: 'ask' }>;

/** Null when every question is answered with a permission. A read does not wait: the defaults answer it. */
async function askAll(run: HookRun, fired: Fired, { queued }: Asking): Promise<HookDenial | null> {
  const [first] = queued;
  if (hookEventRow(fired.event).refuses !== undefined && first !== undefined)
    return {
      ...{ reason: first.prompt, code: HOOK_DENY_CODE, command: first.origin_command },
      ...{ busy: false, asks: true },
    };
  const { questions, askTimeoutMs } = run.hooks;
  const endMs = run.endMs === undefined ? Number.POSITIVE_INFINITY : run.endMs - HOOK_QUESTION_MARGIN_MS;
  const untilMs = Math.min(run.clock.monotonicMs() + askTimeoutMs, endMs);
  for (const asked of queued) {
    const waits = questions !== null && !isRead(fired.event);
    const answered = waits
      ? await questions.ask(fired, asked, untilMs - run.clock.monotonicMs())
      : usualAnswer(asked);
    const permitted = answered.permitted || (isRead(fired.event) && answered.answer === null);
    if (permitted) continue;
    const missing = waits ? 'the operator did not permit it in time' : notAsked(fired.event);
    const reason = answered.by === 'operator' ? 'the operator denied it' : missing;
    return { reason, code: HOOK_DENY_CODE, command: asked.origin_command, busy: false };
  }
  return null;
}

/** Why a question got its default at once. */
const notAsked = (event: HookEvent): string =>
  isRead(event)
    ? 'it asks the operator, for whom a read does not wait'
    : 'it asks the operator, who can answer only while a daemon runs ("mnemesh serve")';

const isRead = (event: HookEvent): boolean => ['read', 'hot'].includes(hookEventRow(event).class);

async function note({ store, log }: HookRun, veto: Parameters<Store['execute']>[0]): Promise<void> {
  try {
    const noted = await store.execute(veto);
    if (!noted.ok) log.error({ code: noted.error.code }, 'the denial of a hook could not be recorded');
  } catch (error) {
    log.error({ err: error }, 'the denial of a hook could not be recorded');
  }
}

/** A denial as callers hear it. */
export function vetoOf(event: HookEvent, { reason, code, busy, asks }: HookDenial): Failure {
  if (busy) {
    const message = `a hook of ${event} that must agree has too many calls to decide about; try again`;
    return failure('OVERLOADED', message, { event });
  }
  const { refuses } = hookEventRow(event);
  const said =
    refuses === undefined
      ? `a hook of ${event} denies it`
      : asks === true
        ? `${refuses} pending operator decision (${event} AskUser)`
        : `${refuses} refused by ${event} hook (code ${code})`;
  return failure('HOOK_VETO', `${said}: ${reason}`, { event, reason, hook_code: code });
}
