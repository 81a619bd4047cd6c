import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { RULE_TEXT_LENGTH_MAX } from '../../../protocol/base/rule-limits.js';
import { nodePolicy } from '../../../protocol/decide/node-policy.js';
import type { RuleTrust } from '../../../protocol/decide/permissions.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { listRules } from '../../../protocol/rules/list-rules.js';
import { type Rule, ruleKind } from '../../../protocol/rules/rule-kind.js';
import { trustOf } from '../../../protocol/rules/rule-signature.js';
import { ruleProblem } from '../../../protocol/rules/rules.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const shownRule = z.object({
  id: z.string(),
  kind: z.string(),
  matcher: z.looseObject({}),
  severity: z.string(),
  reason: z.string(),
  namespace: z.string(),
  created_by: z.string(),
  created_at: z.string(),
  enabled: z.boolean(),
  signature_b64: z.string().nullable(),
  attest_level: z.string(),
  in_force: z.boolean().describe('Enabled, and signed by the operator where an operator key is set'),
  problem: z.string().describe('Why this release cannot evaluate the rule').optional(),
});

/** Lists the rules about actions (interface §4.12, reference-mcp-cli §1.2). */
export const memoryRuleList = defineOperation({
  name: 'memory_rule_list',
  family: 'power',
  summary: 'List the rules about what agents do.',
  input: z.object({
    kind: z.string().max(RULE_TEXT_LENGTH_MAX).describe('Only rules about actions of this kind').optional(),
    enabled_only: z.boolean().default(false).describe('Only rules that are enabled'),
  }),
  output: z.object({ count: z.int(), rules: z.array(shownRule), ...fields.listEnd }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_rule_list', fields: 'body' }],
  mcp: { description: 'List the rules about what agents may do.' },
  cli: {
    command: 'rules list',
    view: 'object',
    table: { id: 'ID', kind: 'KIND', severity: 'SEVERITY', in_force: 'IN FORCE', reason: 'REASON' },
    examples: ['rules list', 'rules list --kind bash --enabled-only --json'],
  },
  run: async (call, { kind, enabled_only }) => {
    const found = await rulesOf(call, kind ?? null);
    if (!found.ok) return failed(found.error);
    const { rules, trust } = found.value;
    const shown = rules
      .filter(({ enabled }) => enabled || !enabled_only)
      .map((rule) => ruleJson(rule, trust));
    return ok({ count: shown.length, rules: shown });
  },
});

/** The rules about actions of a kind, or of all kinds, and which of them count here. */
export async function rulesOf(
  { services }: Pick<ReadCall, 'services'>,
  kind: string | null,
): Promise<Result<{ readonly rules: readonly Rule[]; readonly trust: RuleTrust }>> {
  const found = await services.store.query(listRules(kind));
  if (!found.ok) return failed(found.error);
  return ok({
    rules: rowsOf(ruleKind, found.value),
    trust: trustOf(nodePolicy(services.settings, '').rules, services.crypto),
  });
}

/** True for a rule that decides about actions on this node. */
export const isInForce = (rule: Rule, { isTrusted }: RuleTrust): boolean => rule.enabled && isTrusted(rule);

/** A rule as callers see it. */
export function ruleJson(rule: Rule, trust: RuleTrust): z.input<typeof shownRule> {
  const problem = ruleProblem(rule);
  return {
    id: rule.rule_id,
    kind: rule.rule_kind,
    matcher: { ...rule.matcher },
    severity: rule.severity,
    reason: rule.reason,
    namespace: rule.for_namespace,
    created_by: rule.created_by,
    created_at: rule.created_at,
    enabled: rule.enabled,
    signature_b64: rule.signature,
    attest_level: trust.isTrusted(rule) ? rule.attest_level : 'unsigned',
    in_force: isInForce(rule, trust),
    ...(problem === null ? {} : { problem }),
  };
}
