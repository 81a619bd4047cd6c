import { z } from 'zod';
import { detailsOf, failed, ok, type Result } from '../../../protocol/base/result.js';
import {
  ACTION_STATES,
  type Action,
  type ActionState,
  isActionState,
  mayMove,
} from '../../../protocol/coordination/action-kind.js';
import { noAction } from '../../../protocol/coordination/action-rows.js';
import { transitionEnvelopeBytes } from '../../../protocol/coordination/signed.js';
import { claimerAfter, type TransitionAction } from '../../../protocol/coordination/transition-action.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actingAgent } from './acting-agent.js';
import { actionAt, actionId, actionOutput, actionState, fencingToken, shownAction } from './action-fields.js';
import { signedHere } from './signatures.js';

const input = z.object({
  id: actionId,
  to: actionState.describe(`The state after it: ${ACTION_STATES.join(', ')}`),
  claimed_by: fields.agentId
    .describe('Whose the action is afterwards: the caller. It keeps its claimer when absent')
    .nullish(),
  fencing_token: fencingToken.optional(),
  expected_state: actionState.describe('The state before it, as the caller saw it').optional(),
});

type Input = z.output<typeof input>;

/** Moves an action to another state (interface §4.12, POST /actions/{id}/transition; reference-http §3.11). */
export const memoryActionTransition = defineOperation({
  name: 'memory_action_transition',
  family: 'power',
  summary: 'Claim an action, give it back, begin it or end it.',
  input,
  output: z.object({ action: actionOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  http: [
    {
      ...{ method: 'POST', path: '/actions/{id}/transition', fields: 'body' },
      shape: ({ action }) => {
        const { id, state: now, claimed_by, updated_at } = action as z.output<typeof actionOutput>;
        return { id, state: now, claimed_by, updated_at };
      },
      output: actionOutput.pick({ id: true, state: true, claimed_by: true, updated_at: true }),
    },
  ],
  mcp: {
    description:
      'Set a task (action) to another state: claim it, start it, give it back, or finish it as done or failed.',
  },
  run: async (call, asked) => {
    const by = actingAgent(call, asked.claimed_by ?? undefined, 'claimed_by');
    if (!by.ok) return failed(by.error);
    const found = await actionAt(call, asked.id);
    if (!found.ok) return failed(found.error);
    if (found.value === null) return failed(noAction(asked.id));
    const moved = await moveFrom(call, asked, by.value, found.value);
    return moved.ok ? ok({ action: shownAction(moved.value) }) : failed(moved.error);
  },
});

/**
 * Moves an action from the state that the caller expects, or that this node sees. Where the home of the action is further
 * than this node, and the caller expects nothing, the state that the home names counts.
 */
async function moveFrom(call: Call, asked: Input, by: string, seen: Action): Promise<Result<Action>> {
  const from = (asked.expected_state ?? seen.state) as ActionState;
  const moved = await call.services.store.execute(moving(call, asked, by, { ...seen, state: from }));
  if (moved.ok) return ok(moved.value.action);
  const said = asked.expected_state === undefined ? detailsOf(moved.error, 'ACTION_STATE_CHANGED') : null;
  if (said === null || !isActionState(said.current_state)) return failed(moved.error);
  const { current_state: state, claimed_by } = said;
  const isOwn = claimed_by === by && mayMove(state, asked.to as ActionState);
  if (!isOwn && !(await isUnchanged(call, seen))) return failed(moved.error);
  const later = await call.services.store.execute(moving(call, asked, by, { ...seen, state, claimed_by }));
  return later.ok ? ok(later.value.action) : failed(later.error);
}

/** False where the action has changed here since it was read: another caller was faster, unless the change is the caller's own. */
async function isUnchanged(call: Call, seen: Action): Promise<boolean> {
  const again = await actionAt(call, seen.action_id);
  return again.ok && again.value !== null && again.value.last?.nonce === seen.last?.nonce;
}

function moving(call: Call, asked: Input, by: string, seen: Action): TransitionAction {
  const { services, caller, now: at } = call;
  const { action_id: id, namespace, state: from } = seen;
  const to = asked.to as ActionState;
  const claimedBy = claimerAfter(seen, to, asked.claimed_by ?? null, by);
  const nonce = Buffer.from(services.random.bytes(16)).toString('base64');
  const move = { action_id: id, namespace, from, to, claimed_by: claimedBy, at, nonce };
  const { signature, public_key: publicKey } = signedHere(call, transitionEnvelopeBytes(move));
  return {
    ...{ kind: 'transition-action', id, namespace, from, to, by, operator: caller.viewer.all, claimedBy },
    ...{ token: asked.fencing_token, nonce, at, signature, publicKey },
  };
}
