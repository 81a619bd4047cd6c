import { RULES_MAX } from '../../../protocol/base/rule-limits.js';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import type { ListPolicies, ListRules, NamespacePolicy } from '../../../protocol/policies/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { type Rule, ruleKind } from '../../../protocol/rules/rule-kind.js';
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

/** Throws DamagedRowError for a policy that cannot be read. */
export function listPolicies(
  { statements }: Pick<QueryParts, 'statements'>,
  { named, limit, viewer }: ListPolicies,
): Answers['list-policies'] {
  const from = `FROM records WHERE kind = 'standard' AND ${memberSql('governance')} IS NOT NULL
    AND (@all = 1 OR owner_id = @agent OR id IN (SELECT value FROM json_each(@named)))`;
  const of = { all: viewer.all ? 1 : 0, agent: viewer.agentId, named: JSON.stringify(named) };
  const count = statements.get(`SELECT count(*) ${from}`).pluck().get(of) as number;
  const rows = statements
    .get(`SELECT id, payload ${from} ORDER BY id LIMIT @limit`)
    .all({ ...of, limit }) as Pick<RecordSqlRow, 'id' | 'payload'>[];
  const policies = rows.map((row): NamespacePolicy => {
    const governance = (recordImageOf(standardKind, row) as Standard | null)?.governance ?? null;
    if (governance === null) throw new DamagedRowError(standardKind.name, row.id);
    return { namespace: row.id, governance };
  });
  return { policies, count };
}
