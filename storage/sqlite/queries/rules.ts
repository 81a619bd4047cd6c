import { RULES_MAX } from '../../../protocol/governance/limits.js';
import type { ListRules } from '../../../protocol/governance/queries.js';
import { type Rule, ruleKind } from '../../../protocol/kinds/rule-kind.js';
import type { Answers } from '../../../protocol/queries.js';
import { DamagedRowError } from '../damage.js';
import { memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { QueryParts } from './query-parts.js';

/** Throws DamagedRowError for a rule that cannot be read: a list without it would look complete. */
export function listRules(
  { statements }: Pick<QueryParts, 'statements'>,
  { of }: ListRules,
): Answers['list-rules'] {
  const rows = statements
    .get(
      `SELECT id, payload FROM records WHERE kind = 'rule' AND (@of IS NULL OR ${memberSql('rule_kind')} = @of)
       ORDER BY id LIMIT @limit`,
    )
    .all({ of, limit: RULES_MAX }) as Pick<RecordSqlRow, 'id' | 'payload'>[];
  const rules = rows.map((row) => {
    const rule = recordImageOf(ruleKind, row) as Rule | null;
    if (rule === null) throw new DamagedRowError(ruleKind.name, row.id);
    return rule;
  });
  return { rules };
}
