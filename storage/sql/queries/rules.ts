import { RULES_MAX } from '../../../protocol/base/rule-limits.js';
import { standardKind } from '../../../protocol/memory/standard-kind.js';
import type { ListPolicies, NamespacePolicy } from '../../../protocol/policies/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { ruleKind } from '../../../protocol/rules/rule-kind.js';
import { recordSource } from '../kinds/find-rows.js';
import type { QueryParts } from './query-parts.js';

const STANDARDS = recordSource(standardKind);

const RULES = recordSource(ruleKind);
const ABOUT_READS = { rule_kind: 'read_action' };

/**
 * The rules about reads, for every call. Most databases hold no rule at all, and the index of the kinds, whose pages other
 * looks have read, says so: a look into the index of the rules takes four times as long.
 */
export function rulesForReads({ find }: Pick<QueryParts, 'find'>): Answers['rules-for-reads'] {
  if (!find.any(RULES) || !find.any(RULES, ABOUT_READS)) return { rules: [] };
  return { rules: [...find.rows(RULES, { where: ABOUT_READS, limit: RULES_MAX })].map(({ row }) => row) };
}

/** Throws DamagedRowError for a policy that cannot be read. */
export function listPolicies(
  { find }: Pick<QueryParts, 'find'>,
  { named, limit, viewer }: ListPolicies,
): Answers['list-policies'] {
  const policies: NamespacePolicy[] = [];
  let count = 0;
  const isShown = (namespace: string, owner: string | null) =>
    viewer.all || (owner !== null && owner === viewer.agentId) || named.includes(namespace);
  for (const { row, sql } of find.rows(STANDARDS, { limit: Number.MAX_SAFE_INTEGER })) {
    const namespace = String(sql['id']);
    if (row.governance === null || !isShown(namespace, sql['owner_id'] as string | null)) continue;
    count += 1;
    if (policies.length < limit) policies.push({ namespace, governance: row.governance });
  }
  return { policies, count };
}
