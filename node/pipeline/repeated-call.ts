import { type Hooks, NO_HOOKS } from '../../actors/hooks/hooks.js';
import type { Instant } from '../../protocol/base/meanings.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import { decides } from '../../protocol/hooks/events.js';
import type { Answer } from './answer.js';
import type { Services } from './call.js';
import { keyedRandom } from './keyed-random.js';
import { seenMemory } from './seen-memories.js';

export const OUTCOME_UNKNOWN =
  'the node ended before it answered, so the outcome is unknown: read the memory before you try again';

const EVERYTHING: Viewer = { all: true, agentId: null, asNamespace: null };

/**
 * The hooks of a call. One that is repeated under its key and has stored its memory before is not decided about again; the
 * id of that memory is the first that the key makes.
 */
export async function hooksOfRepeated(
  { key, again }: { readonly key?: string; readonly again?: boolean | 'perhaps' },
  services: Pick<Services, 'hooks' | 'store' | 'random' | 'crypto'>,
  now: Instant,
): Promise<Result<Hooks>> {
  const { hooks, store } = services;
  if (again === undefined || again === false || key === undefined) return ok(hooks);
  const id = keyedRandom(key, services).uuid();
  const found = await seenMemory({ store, viewer: EVERYTHING, now }, id);
  if (!found.ok) return failed(found.error);
  return ok(found.value === null ? hooks : onlyTelling(hooks));
}

const onlyTelling = (hooks: Hooks): Hooks => ({
  has: (event) => !decides(event) && hooks.has(event),
  fire: (fired, endMs) => (decides(fired.event) ? NO_HOOKS.fire(fired) : hooks.fire(fired, endMs)),
  later: (happened) => hooks.later(happened),
  questions: hooks.questions,
  askTimeoutMs: hooks.askTimeoutMs,
  report: () => hooks.report(),
  dropped: hooks.dropped,
  problem: hooks.problem,
});

/** The failure of a repeated write: its first run may have stored what a hook denies now. */
export const repeatedFailure = (answer: Answer): Answer =>
  !answer.ok && answer.error.code === 'HOOK_VETO' ? fail('ACTOR_RESTARTED', OUTCOME_UNKNOWN) : answer;
