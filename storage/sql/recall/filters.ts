import { confidenceRange } from '../../../protocol/memory/confidence.js';
import { isFiltered } from '../../../protocol/memory/recall-filter.js';
import type { RecallFilter } from '../../../protocol/memory/recall-request.js';
import { quoted } from '../../../protocol/ranking/quoted.js';
import { wordsOf } from '../../../protocol/ranking/tokens.js';
import { validAt } from '../filter.js';
import type { SqlFragment } from '../visibility.js';

/**
 * The filters of a recall over rows of `memories` under the alias `row`. There are few texts, one without filters and
 * one with all of them, with and without an instant, so few statements are prepared. `confidence` false leaves out that filter, for a caller that
 * counts what it removes.
 */
export function recallFilters(
  row: string,
  filter: RecallFilter,
  { confidence = true }: { readonly confidence?: boolean } = {},
): SqlFragment {
  const whole = `(${row}.atomised_into IS NULL OR @archived = 1)`;
  const archived = filter.includeArchived === true ? 1 : 0;
  if (!isFiltered(filter)) return { sql: whole, parameters: { archived } };
  const asOf = filter.asOf ?? null;
  const range =
    confidence && (filter.confidence ?? null) !== null ? confidenceRange(filter.confidence!) : null;
  return {
    sql: `${whole} AND (@since IS NULL OR ${row}.created_at >= @since)
      AND (@until IS NULL OR ${row}.created_at <= @until)
      AND (@kinds IS NULL OR ${row}.memory_kind IN (SELECT value FROM json_each(@kinds)))
      AND (@tier IS NULL OR ${row}.tier = @tier)
      AND (@cited = 0 OR ${row}.citations <> '[]')
      AND (@uri_prefix IS NULL OR substr(${row}.source_uri, 1, length(@uri_prefix)) = @uri_prefix)
      AND (@confidence_from IS NULL OR ${row}.confidence >= @confidence_from)
      AND (@confidence_below IS NULL OR ${row}.confidence < @confidence_below)
      AND (@tags IS NULL OR ${tagClause(row)})
      ${asOf === null ? '' : `AND ${validAt(row)}`}`,
    parameters: {
      archived,
      since: filter.since,
      until: filter.until,
      kinds: filter.kinds === null ? null : JSON.stringify(filter.kinds),
      tier: filter.tier ?? null,
      cited: filter.hasCitations === true ? 1 : 0,
      uri_prefix: filter.sourceUriPrefix ?? null,
      confidence_from: range?.from ?? null,
      confidence_below: range?.below ?? null,
      tags: filter.tags.length === 0 ? null : JSON.stringify(filter.tags),
      ...(asOf === null ? {} : { as_of: asOf }),
    },
  };
}

/** Matches rows with any of some tags, exactly. */
function tagClause(row: string): string {
  return `EXISTS (SELECT 1 FROM json_each(${row}.tags) AS tag WHERE tag.value IN (SELECT value FROM json_each(@tags)))`;
}

/**
 * A tag filter for the full-text index: an expression that every row with one of the tags matches. Null when the index
 * cannot say (a tag without letters, or a tag that JSON escapes).
 */
export function tagExpression(tags: readonly string[]): string | null {
  const phrases: string[] = [];
  for (const tag of tags) {
    if (JSON.stringify(tag) !== `"${tag}"` || wordsOf(tag).length === 0) return null;
    phrases.push(quoted(tag));
  }
  return phrases.length === 0 ? null : `tags : (${phrases.join(' OR ')})`;
}
