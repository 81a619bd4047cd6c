import { type Deciding, decided } from '../decide/deciding.js';
import { dropRecord, recordRow } from '../decide/record-writes.js';
import { rememberedId, rememberedKind } from '../kinds/remembered-kind.js';
import type { AgentId } from '../meanings.js';
import type { Viewer } from '../ranking/types.js';
import { fail } from '../result.js';

/** Removes a decision that was remembered; later actions of that kind ask again. */
export interface ForgetDecision {
  readonly kind: 'forget-decision';
  readonly namespace: string;
  readonly actionType: string;
  /** The agent whose actions it is about. */
  readonly agentId: AgentId;
  readonly viewer: Viewer;
}

/** What `forget-decision` answers. */
export interface ForgetDecisionOutcome {
  readonly removed: boolean;
}

/** FORBIDDEN for a decision of another agent. */
export function* decideForgetDecision({
  namespace,
  actionType,
  agentId,
  viewer,
}: ForgetDecision): Deciding<ForgetDecisionOutcome> {
  const id = rememberedId({ namespace, action_type: actionType, agent_id: agentId });
  const row = yield* recordRow(rememberedKind, id);
  if (row === null) return decided({ removed: false }, []);
  if (!viewer.all && row.image.decided_by !== viewer.agentId) {
    return fail('FORBIDDEN', 'another agent made this decision');
  }
  return decided({ removed: true }, [dropRecord(rememberedKind, row, 'forgotten')]);
}
