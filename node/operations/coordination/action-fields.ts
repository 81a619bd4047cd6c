import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { type Action, actionKind, isActionState } from '../../../protocol/coordination/action-kind.js';
import { type ActionEdge, edgeKind } from '../../../protocol/coordination/edge-kind.js';
import { valueOfJson } from '../../../protocol/coordination/members.js';
import { epochSeconds, transitionEnvelopeBytes } from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { isVerified } from './signatures.js';

export const actionId = fields.words(128).describe('Id of the action');

export const actionState = z
  .string()
  .refine(isActionState, { error: ({ input }) => `invalid action state: ${String(input)}` });
export const fencingToken = z.int().min(1).describe('The fencing token of the lease that the caller holds');

/** An action in an answer; instants are epoch seconds. */
export const actionOutput = z.object({
  id: z.string(),
  namespace: z.string(),
  kind: z.string(),
  state: z.string(),
  title: z.string(),
  payload: z.unknown(),
  priority: z.int(),
  agent_id: z.string().nullable(),
  created_by: z.string(),
  claimed_by: z.string().nullable(),
  vector_clock: z.looseObject({}),
  metadata: z.looseObject({}),
  created_at: z.int(),
  updated_at: z.int(),
});

/** The last transition of an action, with the signature of the node that took it. */
export const transitionOutput = z.object({
  from_state: z.string(),
  to_state: z.string(),
  moved_by: z.string(),
  claimed_by: z.string().nullable(),
  nonce: z.string(),
  created_at: z.int(),
  signature: z.string().nullable(),
  signer_pubkey: z.string().nullable(),
  verified: z.boolean().describe('The signature is that of a member of the mesh and covers the transition'),
});

/** What an action waits for. */
export const prerequisiteOutput = z.object({
  id: z.string(),
  edge_type: z.string(),
  state: z.string().describe('"unknown" for an action that this node does not have'),
  failed: z.boolean().describe('It has ended so that the action can never begin'),
  cycle: z.literal(true).describe('It waits for the action itself').optional(),
});

export const edgeOutput = z.object({
  from_action: z.string(),
  to_action: z.string(),
  edge_type: z.string(),
  created_at: z.int(),
});

export function shownAction(action: Action): z.input<typeof actionOutput> {
  const { action_id: id, namespace, action_kind: kind, state, title, priority, metadata } = action;
  const { agent_id, created_by, claimed_by } = action;
  return {
    ...{ id, namespace, kind, state, title, payload: valueOfJson(action.payload), priority, agent_id },
    ...{ created_by, claimed_by, vector_clock: {}, metadata: { ...metadata } },
    created_at: epochSeconds(action.created_at),
    updated_at: epochSeconds(action.updated_at),
  };
}

export async function shownTransition(
  { services }: ReadCall,
  action: Action,
): Promise<z.input<typeof transitionOutput> | null> {
  const { last, action_id, namespace } = action;
  if (last === null) return null;
  const { from: from_state, to: to_state, by: moved_by, claimed_by, nonce, at, ...signed } = last;
  const data = transitionEnvelopeBytes({ ...last, action_id, namespace });
  return {
    ...{ from_state, to_state, moved_by, claimed_by, nonce, created_at: epochSeconds(at) },
    ...{ signature: signed.signature, signer_pubkey: signed.public_key },
    verified: await isVerified(services, signed, data),
  };
}

export const shownEdge = ({ from_action, to_action, edge_type, created_at }: ActionEdge) => ({
  ...{ from_action, to_action, edge_type },
  created_at: epochSeconds(created_at),
});

/** The action with an id, as this node has it; null where it has none. */
export async function actionAt(
  { services, caller, now }: ReadCall,
  id: string,
): Promise<Result<Action | null>> {
  const found = await services.store.query({
    ...{ kind: 'find-records', of: actionKind.name, where: { action_id: id }, limit: 1 },
    ...{ viewer: caller.viewer, now },
  });
  return found.ok ? ok(rowsOf(actionKind, found.value)[0] ?? null) : failed(found.error);
}

/** The edges of an action in both directions, the oldest first. */
export async function edgesAt(
  { services, caller, now }: ReadCall,
  id: string,
  limit: number,
): Promise<Result<readonly ActionEdge[]>> {
  const edges: ActionEdge[] = [];
  for (const end of ['from_action', 'to_action']) {
    const found = await services.store.query({
      ...{ kind: 'find-records', of: edgeKind.name, where: { [end]: id }, limit },
      ...{ viewer: caller.viewer, now, skipDamaged: true },
    });
    if (!found.ok) return failed(found.error);
    edges.push(...rowsOf(edgeKind, found.value));
  }
  return ok(edges.sort((a, b) => (a.created_at < b.created_at ? -1 : 1)));
}
