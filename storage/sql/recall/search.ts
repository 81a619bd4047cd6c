import type { SearchMemories } from '../../../protocol/memory/queries.js';
import { inverseFrequency, LexicalScorer, PairWeights } from '../../../protocol/ranking/lexical.js';
import {
  analyseQuery,
  anyOf,
  type QueryAnalysis,
  type QueryTerm,
  termExpression,
} from '../../../protocol/ranking/query.js';
import { RANKING_WEIGHTS } from '../../../protocol/ranking/weights.js';
import type { Connection } from '../connection.js';
import { type FilterSql, memoryFilter } from '../filter.js';
import { standingOf } from '../rows.js';
import { tagExpression } from './filters.js';
import { allOf, headExpression, scopeExpression, WIDENED_ROWS } from './postings.js';
import { type Scope, scopeOf } from './scope.js';
import { statement } from './statements.js';

/** Matches that are ordered by relevance; older ones follow, newest first. */
const RANKED_ROWS_MAX = 200;
/** Words that are read to rank them. */
const RANKED_WORDS_MAX = 60_000;
/** A word in fewer rows than this is also found as the beginning of longer words. */
const RARE_ROWS = 128;

/**
 * Keyword search (interface §4.3): the rows with every word of the query that pass the filters, the most relevant
 * first. Answers rids.
 *
 * Decision: stop-words are not required unless the query has no other words. Without any word only the source uri
 * decides, newest first; without both nothing is found.
 */
export function search(database: Connection, query: SearchMemories): number[] {
  const { filter, sourceUri } = query;
  const condition = memoryFilter('memory', filter);
  if (sourceUri !== null) {
    condition.parameters['source_uri'] = sourceUri;
  }
  condition.parameters['archived'] = query.includeArchived === true ? 1 : 0;
  const whole = `${condition.sql} AND (memory.atomised_into IS NULL OR @archived = 1)`;
  const sourced: FilterSql = {
    sql: sourceUri === null ? whole : `${whole} AND memory.source_uri = @source_uri`,
    parameters: condition.parameters,
  };
  const analysis = analyseQuery(query.query);
  if (analysis.terms.length === 0) {
    return sourceUri === null ? [] : newestOf(database, sourced, filter.limit, filter.offset);
  }
  const scope = scopeOf(database, filter.namespace, false);
  if (scope.namespaces?.length === 0) return [];
  const expression = allOf(
    scopeExpression(scope),
    tagExpression(filter.tags),
    ...analysis.terms.filter(({ required }) => required).map((term) => searched(database, scope, term)),
  );
  const requested = Math.max(RANKED_ROWS_MAX, filter.offset + filter.limit);
  const found = matching(database, expression, sourced, requested);
  const rankable = Math.max(filter.limit, Math.floor(RANKED_WORDS_MAX / scope.averageWords));
  const head = found.slice(0, Math.min(RANKED_ROWS_MAX, rankable));
  // Rows of a named instant all hold then.
  const now = (filter.asOf ?? null) === null ? filter.now : null;
  const ordered = [...rank(database, analysis, scope, head, found.length, now), ...found.slice(head.length)];
  return ordered.slice(filter.offset, filter.offset + filter.limit);
}

/** A term as a search wants it. */
function searched(database: Connection, scope: Scope, term: QueryTerm): string {
  const expression = termExpression(term);
  const longer = headExpression(term);
  if (longer === null) return expression;
  const sql = 'SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT ?';
  const own = allOf(scopeExpression(scope), expression);
  const rows = statement(database, sql, 'pluck').all(own, RARE_ROWS);
  return rows.length < RARE_ROWS ? anyOf([expression, longer]) : expression;
}

/** The rows of a source. Its index is named, because the planner would take that of the namespace, which may be large. */
function newestOf(database: Connection, condition: FilterSql, limit: number, offset: number): number[] {
  const sql = `SELECT memory.rid FROM memories AS memory INDEXED BY memories_source_uri WHERE ${condition.sql}
    ORDER BY memory.updated_at DESC, memory.rid DESC LIMIT @limit OFFSET @offset`;
  return statement(database, sql, 'pluck').all({ ...condition.parameters, limit, offset }) as number[];
}

function matching(database: Connection, expression: string, condition: FilterSql, limit: number): number[] {
  const sql = `SELECT memory.rid FROM (SELECT rowid AS rid FROM memories_fts WHERE memories_fts MATCH @expression
      ORDER BY rowid DESC LIMIT ${WIDENED_ROWS}) AS found CROSS JOIN memories AS memory ON memory.rid = found.rid
    WHERE ${condition.sql} /* postgres: ORDER BY found.rid DESC */ LIMIT @limit`;
  return statement(database, sql, 'pluck').all({ ...condition.parameters, expression, limit }) as number[];
}

/**
 * Orders rows that all contain every word: by how often, how near the title and how close together the words are. What
 * does not hold at `now` comes behind.
 */
function rank(
  database: Connection,
  analysis: QueryAnalysis,
  scope: Scope,
  rids: readonly number[],
  matches: number,
  now: string | null,
): number[] {
  const idf = new Float64Array(analysis.terms.length).fill(inverseFrequency(scope.rows, matches));
  const scorer = new LexicalScorer(analysis, { idf, telling: idf }, scope.averageWords, RANKING_WEIGHTS);
  const rows = statement(
    database,
    `SELECT memory.rid, memory.title, memory.content, memory.tags, memory.rest FROM json_each(?) AS listed
     CROSS JOIN memories AS memory ON memory.rid = CAST(listed.value AS INTEGER)`,
    'raw',
  ).all(`[${rids.join(',')}]`) as [number, string, string, string, string][];
  const found = rows.map(([rid, title, content, tags, rest]) => ({
    rid,
    lapsed: now !== null && !standingOf(rest, now).holds ? 1 : 0,
    evidence: scorer.score(title, content, tags),
  }));
  const pairs = new PairWeights(found, found.length, RANKING_WEIGHTS);
  return found
    .map(({ rid, lapsed, evidence }) => ({ rid, lapsed, score: pairs.score(evidence) }))
    .sort((left, right) => left.lapsed - right.lapsed || right.score - left.score || right.rid - left.rid)
    .map(({ rid }) => rid);
}
