import { quoted } from '../../../protocol/ranking/query.js';
import { wordsOf } from '../../../protocol/ranking/tokens.js';
import type { RecallRequest } from '../../../protocol/ranking/types.js';
import type { SqlFragment } from '../visibility.js';

/** The filters that recall and search share. */
export type CommonFilters = Pick<RecallRequest, 'tags' | 'since' | 'until'>;

/** Rows with any of some tags, exactly. */
function tagClause(row: string): string {
  return `EXISTS (SELECT 1 FROM json_each(${row}.tags) AS tag WHERE tag.value IN (SELECT value FROM json_each(@tags)))`;
}

/** The filters over rows of `memories` under the alias `row`; `1` when there are none. */
export function commonFilters(row: string, filters: CommonFilters): SqlFragment {
  const clauses: string[] = [];
  const parameters: Record<string, string> = {};
  if (filters.tags.length > 0) {
    clauses.push(tagClause(row));
    parameters['tags'] = JSON.stringify(filters.tags);
  }
  if (filters.since !== null) {
    clauses.push(`${row}.created_at >= @since`);
    parameters['since'] = filters.since;
  }
  if (filters.until !== null) {
    clauses.push(`${row}.created_at <= @until`);
    parameters['until'] = filters.until;
  }
  return { sql: clauses.length === 0 ? '1' : clauses.join(' AND '), parameters };
}

/** The filters of a recall. */
export function recallFilters(row: string, request: RecallRequest): SqlFragment {
  const common = commonFilters(row, request);
  if (request.kinds === null) return common;
  return {
    sql: `${common.sql} AND ${row}.memory_kind IN (SELECT value FROM json_each(@kinds))`,
    parameters: { ...common.parameters, kinds: JSON.stringify(request.kinds) },
  };
}

/**
 * What the full-text index can say about a tag filter: an expression that every row with one of the tags matches, or
 * null when it cannot tell (a tag without letters, or one that JSON escapes).
 */
export function tagExpression(tags: readonly string[]): string | null {
  const phrases: string[] = [];
  for (const tag of tags) {
    if (JSON.stringify(tag) !== `"${tag}"` || wordsOf(tag).length === 0) return null;
    phrases.push(quoted(tag));
  }
  return phrases.length === 0 ? null : `tags : (${phrases.join(' OR ')})`;
}
