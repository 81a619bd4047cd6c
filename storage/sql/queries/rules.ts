import { standardKind } from '../../../protocol/memory/standard-kind.js';
import type { ListPolicies, NamespacePolicy } from '../../../protocol/policies/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { recordSource } from '../kinds/find-rows.js';
import type { QueryParts } from './query-parts.js';

const STANDARDS = recordSource(standardKind);

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
