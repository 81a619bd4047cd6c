import { RULES_MAX } from '../../../protocol/base/rule-limits.js';
import { standardKind } from '../../../protocol/memory/standard-kind.js';
import { type ReadRegion, readRegions } from '../../../protocol/namespaces/read-policies.js';
import type { ListPolicies, NamespacePolicy } from '../../../protocol/policies/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { ruleKind } from '../../../protocol/rules/rule-kind.js';
import { recordSource } from '../kinds/find-rows.js';
import type { Statements } from '../statements.js';
import type { QueryParts } from './query-parts.js';

const STANDARDS = recordSource(standardKind);

const RULES = recordSource(ruleKind);
const ABOUT_READS = { rule_kind: 'read_action' };

/**
 * What may limit reads, for every call. Most databases hold no rule and no standard, and the index of the kinds, whose pages
 * other looks have read, says so: a look into the index of the rules takes four times as long.
 */
export function rulesForReads({
  find,
  statements,
}: Pick<QueryParts, 'find' | 'statements'>): Answers['rules-for-reads'] {
  const about = { where: ABOUT_READS, limit: RULES_MAX };
  const hasRules = find.any(RULES) && find.any(RULES, ABOUT_READS);
  const hasRegions = find.any(STANDARDS) && mayLimitReads(statements);
  return {
    rules: hasRules ? find.all(RULES, about) : [],
    regions: hasRegions ? keptRegions({ find, statements }) : [],
  };
}

/** The regions by connection, with the digests of the standards that they were made of. */
const regionsOf = new WeakMap<
  Statements,
  { readonly made: string; readonly regions: readonly ReadRegion[] }
>();

/** The regions of all standards, made again when one of these has changed. */
function keptRegions({ find, statements }: Pick<QueryParts, 'find' | 'statements'>): readonly ReadRegion[] {
  const digests = statements
    .get(`SELECT digest FROM records WHERE kind = 'standard' ORDER BY id`)
    .pluck()
    .all() as Buffer[];
  const made = digests.map((digest) => digest.toString('latin1')).join('');
  const kept = regionsOf.get(statements);
  if (kept?.made === made) return kept.regions;
  const regions = readRegions(find.all(STANDARDS, { limit: Number.MAX_SAFE_INTEGER }));
  regionsOf.set(statements, { made, regions });
  return regions;
}

/** False where no policy is about reads; a look at the texts takes a tenth of one at their members. */
const mayLimitReads = (statements: Statements): boolean =>
  statements
    .get(`SELECT 1 FROM records WHERE kind = 'standard' AND payload LIKE '%"read":%' LIMIT 1`)
    .get() !== undefined;

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
