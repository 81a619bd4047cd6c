import { type Failure, failed, type Result } from '../base/result.js';
import type { AnyCommand } from '../decide/command.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { RemoveRule } from './change-rules.js';
import { type Rule, ruleKind } from './rule-kind.js';

/**
 * Refuses changes of rules that the operator did not sign, where an operator key is set: a rule that would count, and
 * every change of one that counts. Imports pass here too. Rules of other nodes come as their log says.
 */
export function guardRules<T>(
  command: AnyCommand,
  result: Result<Decision<T>>,
  { ruleTrust }: DecisionContext,
): Result<Decision<T>> {
  if (!result.ok) return result;
  const counts = (rule: Rule | null) => rule?.enabled === true && ruleTrust.isTrusted(rule);
  const isUnsigned = (mutation: Mutation): boolean => {
    if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') return false;
    if (mutation.kind !== ruleKind.name) return false;
    const before = mutation.before as Rule | null;
    if (mutation.mutation === 'remove') {
      const signature = command.kind === 'remove-rule' ? (command as RemoveRule).signature : null;
      return counts(before) && !ruleTrust.mayRemove(before!, signature);
    }
    const rule = mutation.image as Rule;
    return (rule.enabled || counts(before)) && !ruleTrust.isTrusted(rule);
  };
  return result.value.mutations.some(isUnsigned) ? failed(UNSIGNED) : result;
}

const UNSIGNED: Failure = {
  code: 'FORBIDDEN',
  message:
    'an operator key is set, so a change of rules needs its signature: run "mnemesh rules" with --sign',
};
