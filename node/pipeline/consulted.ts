import type { Failure } from '../../protocol/base/result.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { Call } from './call.js';
import { consult, vetoOf } from './run-hooks.js';

/** Asks the hooks of an event about what an operation is going to do; they rewrite nothing. Null when none denies it. */
export async function consulted(
  { services, caller, now, deadlineMs }: Call,
  event: HookEvent,
  { namespace, payload }: { readonly namespace: string; readonly payload: HookPayload },
): Promise<Failure | null> {
  const { hooks, store, clock, log } = services;
  if (!hooks.has(event)) return null;
  const run = { hooks, store, clock, log, agentId: caller.agentId, now, endMs: deadlineMs };
  const verdict = await consult(run, { event, namespace, payload });
  return 'denial' in verdict ? vetoOf(event, verdict.denial) : null;
}
