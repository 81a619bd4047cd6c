import type { Viewer } from '../base/viewer.js';
import type { PermissionOp, PermissionRule } from '../decide/permissions.js';
import { literalLength, matchesGlob } from './glob.js';

/**
 * The permission rule that decides on an action in a namespace; null when no rule is about it. A denial wins, then the
 * rule with the most exact namespace, then an approval before a question (reference-federation §2.7).
 */
export function ruleDecision(
  rules: readonly PermissionRule[],
  { op, viewer }: { readonly op: PermissionOp; readonly viewer: Viewer },
  namespace: string,
): PermissionRule | null {
  const about = rules.filter(
    (rule) =>
      rule.op === op &&
      matchesGlob(rule.namespacePattern, namespace) &&
      matchesGlob(rule.agentPattern, viewer.agentId ?? ''),
  );
  const rank = (rule: PermissionRule) => {
    const { decision, namespacePattern } = rule;
    const exact = 2 * literalLength(namespacePattern);
    return decision === 'deny' ? Number.POSITIVE_INFINITY : exact + (decision === 'allow' ? 1 : 0);
  };
  return about.reduce<PermissionRule | null>(
    (best, rule) => (best === null || rank(rule) > rank(best) ? rule : best),
    null,
  );
}
