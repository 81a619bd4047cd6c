import type { AgentId } from '../base/meanings.js';
import { type Failure, failure } from '../base/result.js';
import type { DecisionContext } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { after, type Reading } from '../decide/reads.js';
import type { AuditEvent } from '../log/audit.js';
import { MEMORY_WRITE } from './action.js';
import { ruled } from './read-rules.js';
import { rulesOn } from './reads.js';

/** True when there may be rules about writes of memories. */
export function* hasRulesForWrites({ ruleTrust }: Pick<DecisionContext, 'ruleTrust'>): Reading<boolean> {
  return (yield* rulesOn({ ruleKind: 'custom', skipDamaged: ruleTrust.failOpen })).length > 0;
}

/** A write of a memory, as the rules of the kind `custom` see it. */
export interface RuledWrite {
  readonly agentId: AgentId;
  readonly namespace: string;
  readonly title: string;
  readonly tier: string;
}

/**
 * Why the rules of the operator refuse a write of a memory; null when they allow it. The refusal is recorded in the
 * audit chain, although the write itself changes nothing. Without such rules it costs one look into an index.
 */
export function* ruleRefusal(
  { agentId, namespace, title, tier }: RuledWrite,
  context: Pick<DecisionContext, 'ruleTrust'>,
): Reading<Failure | null> {
  const payload = { namespace, title, tier };
  const said = yield* ruled('custom', { kind: 'custom', custom_kind: MEMORY_WRITE, payload }, context);
  const { decision, rule_id, reason } = said;
  if (decision !== 'refuse') return null;
  const event: AuditEvent = {
    agentId,
    type: 'governance.refusal',
    payload: { kind: MEMORY_WRITE, rule_id, namespace },
  };
  yield* after([appendAudit({ event })]);
  const named = rule_id === null ? '' : `rule ${rule_id}: `;
  return failure('GOVERNANCE_REFUSED', `${named}${reason}`, { rule_id, reason });
}
