import { RULES_MAX } from '../base/rule-limits.js';
import type { DecisionContext } from '../decide/deciding.js';
import type { Reading } from '../decide/reads.js';
import type { Action } from './action.js';
import { rulesOn } from './reads.js';
import type { Rule } from './rule-kind.js';
import { evaluateRules, type RuleDecision } from './rules.js';

/**
 * What the rules say about an action at this moment. Null reads the rules of all kinds. More rules than are read refuse
 * the action, as a rule does that cannot be evaluated.
 */
export function* ruled(
  ruleKind: string | null,
  action: Action,
  { ruleTrust }: Pick<DecisionContext, 'ruleTrust'>,
): Reading<RuleDecision> {
  const { failOpen } = ruleTrust;
  const rules: readonly Rule[] = yield* rulesOn({ ruleKind, skipDamaged: failOpen });
  if (rules.length > RULES_MAX && !failOpen) {
    const reason = `there are more than ${RULES_MAX} rules: they cannot be evaluated`;
    return { decision: 'refuse', rule_id: null, reason, logged: [] };
  }
  return evaluateRules(rules, action, ruleTrust);
}
