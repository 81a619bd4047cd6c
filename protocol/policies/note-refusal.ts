import { POLICY_REFUSALS_OF_AGENT_MAX, POLICY_REFUSALS_OF_NODE_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import type { DecisionContext } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import type { PermissionOp } from '../decide/permissions.js';
import { after, type Reading } from '../decide/reads.js';
import { dayOf, quotaHolder } from '../identity/quota.js';
import type { GatedAction } from './gated-action.js';
import { refusalsNoted } from './reads.js';

/** The type of the records; the index that counts them names it. */
export const POLICY_REFUSAL = 'governance.policy_refusal';

/** Where and why an action was refused. */
export interface RefusedPlace {
  readonly namespace: string;
  readonly reason: string;
  /** The operation that a permission rule denied; that of the gate where a policy refused. */
  readonly op?: PermissionOp;
}

/** Records that a policy or a permission rule refused an action, without its content. */
export function* noteRefusal(
  { action, places, viewer, memoryId }: GatedAction,
  { namespace, reason, op = places[0]!.ops[0]! }: RefusedPlace,
  context: Pick<DecisionContext, 'now'>,
): Reading<void> {
  const payload = { action, op, namespace, memory_id: memoryId, reason };
  yield* appendRefusal(viewer.agentId ?? 'operator', payload, context);
}

/**
 * Appends a refusal to the audit chain. An agent, and all agents together, get so many records in a UTC day; the last one
 * says that it is the last.
 */
export function* appendRefusal(
  refused: AgentId,
  details: Readonly<Record<string, unknown>>,
  { now }: Pick<DecisionContext, 'now'>,
): Reading<void> {
  const agentId = quotaHolder(refused);
  const { ofAgent, ofNode } = yield* refusalsNoted({ agentId, since: dayOf(now) });
  const room = Math.min(POLICY_REFUSALS_OF_AGENT_MAX - ofAgent, POLICY_REFUSALS_OF_NODE_MAX - ofNode);
  if (room <= 0) return;
  const last = room === 1 ? { last_of_day: true } : {};
  const payload = { ...details, ...last };
  yield* after([appendAudit({ event: { agentId, type: POLICY_REFUSAL, payload } })]);
}
