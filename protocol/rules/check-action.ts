import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import type { AuditEvent } from '../log/audit.js';
import type { Action } from './action.js';
import { ruled } from './read-rules.js';
import type { RuleDecision } from './rules.js';

/** Asks what the rules say about an action, and records that it was asked (reference-federation §2.6). */
export interface CheckAction {
  readonly kind: 'check-action';
  readonly action: Action;
  readonly agentId: AgentId;
}

/** Rules that one record of the audit chain names. */
const LOGGED_NAMED_MAX = 20;

/** The record does not quote the action, which may hold secrets. */
function* decideCheckAction(
  { action, agentId }: CheckAction,
  context: DecisionContext,
): Deciding<{ readonly said: RuleDecision }> {
  const said = yield* ruled(null, action, context);
  const { decision, rule_id, logged } = said;
  const payload = { kind: action.kind, decision, rule_id };
  const noted = logged.length === 0 ? {} : { logged: logged.slice(0, LOGGED_NAMED_MAX) };
  const events: AuditEvent[] = [
    { agentId, type: 'governance.check', payload: { ...payload, ...noted } },
    ...(decision === 'refuse' ? [{ agentId, type: 'governance.refusal', payload }] : []),
  ];
  return decided(
    { said },
    events.map((event) => appendAudit({ event })),
  );
}

export const checkActionCommand = defineCommand({
  kind: 'check-action',
  decide: decideCheckAction,
  gate: 'governance',
});
