import { RULES_MAX } from '../base/rule-limits.js';
import type { FindRecords } from '../kinds/find.js';
import { ruleKind } from './rule-kind.js';

/** The question for the rules about actions of a kind, or of all kinds, by id. Callers may see all rules. */
export const listRules = (kind: string | null): FindRecords => ({
  ...{ kind: 'find-records', of: ruleKind.name, where: kind === null ? {} : { rule_kind: kind } },
  ...{ limit: RULES_MAX, viewer: null, now: '' },
});
