import type { Rule } from '../../protocol/rules/rule-kind.js';

const DATE = '2026-01-01T00:00:00.000Z';

/** An enabled rule that refuses a command. */
export const aRule = (id: string, more: Partial<Rule> = {}): Rule => ({
  rule_id: id,
  rule_kind: 'bash',
  matcher: { command_substring: 'push --force' },
  severity: 'refuse',
  reason: 'ask first',
  for_namespace: '_global',
  created_by: 'ai:operator',
  created_at: DATE,
  updated_at: DATE,
  enabled: true,
  signature: null,
  attest_level: 'unsigned',
  rest: {},
  ...more,
});
