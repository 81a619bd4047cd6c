import { memoryIdProblem, namespaceProblem } from '../base/ids.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { type Failure, fail, failed, failure } from '../base/result.js';
import { RULE_MATCHER_BYTES_MAX, RULE_REASON_LENGTH_MAX, RULES_MAX } from '../base/rule-limits.js';
import { characters, utf8Bytes } from '../base/utf8.js';
import { MESH_NAMESPACE } from '../decide/adoption-kind.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { rulesOn } from './reads.js';
import { type Rule, ruleKind } from './rule-kind.js';
import { GLOBAL_RULES, ruleProblem } from './rules.js';

/** Adds a rule, or puts another one in its place. The caller's permission is checked before. */
export interface PutRule {
  readonly kind: 'put-rule';
  readonly rule: Rule;
  /** When the rule was last changed that this one replaces; null adds a rule. */
  readonly replaces: Instant | null;
  readonly by: AgentId;
}

/** Removes a rule. The caller's permission is checked before. */
export interface RemoveRule {
  readonly kind: 'remove-rule';
  readonly id: string;
  /** The operator's signature over the removal; null without one. */
  readonly signature: string | null;
  readonly by: AgentId;
}

/** Writes a rule. CONFLICT when it exists, or was changed meanwhile. What must be signed: decide/guard-rules.ts. */
function* decidePutRule({ rule, replaces, by }: PutRule): Deciding<{ readonly rule: Rule }> {
  const problem = problemOf(rule);
  if (problem !== null) return failed(problem);
  const before = (yield* recordRow(ruleKind, rule.rule_id))?.image ?? null;
  if (before === null && replaces !== null) return notFound(rule.rule_id);
  if (before !== null && replaces === null) {
    return fail('CONFLICT', `rule ${rule.rule_id} exists already`, { existing_id: rule.rule_id });
  }
  if (before !== null && before.updated_at !== replaces) {
    return fail('CONFLICT', `rule ${rule.rule_id} was changed meanwhile; try again`);
  }
  if (before === null) {
    const rules = yield* rulesOn({ ruleKind: null, skipDamaged: true });
    if (rules.length >= RULES_MAX) {
      return fail('CONFLICT', `there are ${RULES_MAX} rules already: remove one first`);
    }
  }
  const { enabled, severity, attest_level } = rule;
  const payload = { id: rule.rule_id, kind: rule.rule_kind, severity, enabled, attest_level };
  const type = before === null ? 'governance.rule_added' : 'governance.rule_changed';
  return decided({ rule }, [
    yield* putRecord(ruleKind, { id: rule.rule_id, namespace: MESH_NAMESPACE }, rule),
    appendAudit({ event: { agentId: by, type, payload } }),
  ]);
}

/** Removes a rule. */
function* decideRemoveRule({ id, by }: RemoveRule): Deciding<{ readonly rule: Rule }> {
  const row = yield* recordRow(ruleKind, id);
  if (row === null) return notFound(id);
  const rule = row.image;
  const payload = { id, kind: rule.rule_kind, severity: rule.severity, enabled: rule.enabled };
  return decided({ rule }, [
    dropRecord(ruleKind, row, 'remove'),
    appendAudit({ event: { agentId: by, type: 'governance.rule_removed', payload } }),
  ]);
}

const notFound = (id: string) => fail('NOT_FOUND', `there is no rule ${id}`);

/** Why a rule cannot be written; null for a rule that this release can evaluate. */
function problemOf(rule: Rule): Failure | null {
  const invalid = (field: string, problem: string): Failure =>
    failure('VALIDATION_FAILED', `${field}: ${problem}`, { fields: [field] });
  const id = memoryIdProblem(rule.rule_id);
  if (id !== null) return invalid('id', id);
  if (rule.for_namespace !== GLOBAL_RULES) {
    const place = namespaceProblem(rule.for_namespace);
    if (place !== null) return invalid('namespace', place);
    if (rule.rule_kind !== 'custom' && rule.rule_kind !== 'read_action') {
      return invalid('namespace', `an action of kind "${rule.rule_kind}" has no namespace`);
    }
  }
  if (characters(rule.reason) > RULE_REASON_LENGTH_MAX) {
    return invalid('reason', `must be at most ${RULE_REASON_LENGTH_MAX} characters`);
  }
  if (utf8Bytes(JSON.stringify(rule.matcher)) > RULE_MATCHER_BYTES_MAX) {
    return invalid('matcher', `must be at most ${RULE_MATCHER_BYTES_MAX} bytes`);
  }
  const problem = ruleProblem(rule);
  return problem === null ? null : { code: 'VALIDATION_FAILED', message: problem };
}

export const putRuleCommand = defineCommand({
  kind: 'put-rule',
  decide: decidePutRule,
  gate: 'governance',
});

export const removeRuleCommand = defineCommand({
  kind: 'remove-rule',
  decide: decideRemoveRule,
  gate: 'governance',
});
