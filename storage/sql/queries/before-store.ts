import { POTENTIAL_CONTRADICTIONS_MAX, SIMILAR_TITLE_CANDIDATES_MAX } from '../../../protocol/base/limits.js';
import { potentialContradictions, tellingWords } from '../../../protocol/lifecycle/contradictions.js';
import type { SimilarTitles } from '../../../protocol/memory/queries.js';
import { quoted } from '../../../protocol/ranking/quoted.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** Words of a title that are searched for. */
const TITLE_WORDS_MAX = 8;
/** Newest matches that are examined to find visible ones. */
const WINDOW_ROWS = 5000;

interface TitledRow {
  readonly rid: number;
  readonly id: string;
  readonly title: string;
}

/**
 * Visible rows of one namespace with similar titles (reference-http §2.3, potential_contradictions). Candidates are the
 * newest rows with any word of the title. When too few of them are similar and there are more rows, it also takes the
 * newest rows with each word, so a rare word finds its rows behind a common one.
 */
export function similarTitles({ statements }: QueryParts, query: SimilarTitles): Answers['similar-titles'] {
  const words = [...new Set(tellingWords(query.title))].slice(0, TITLE_WORDS_MAX);
  const nsId = statements.get('SELECT ns_id FROM namespaces WHERE name = ?').get(query.namespace) as
    | { ns_id: number }
    | undefined;
  if (nsId === undefined || words.length === 0) return { ids: [] };
  const gate = visibleRows('m', query.viewer, query.now);
  const listing = statements.get(
    `SELECT m.rid, m.id, m.title FROM
       (SELECT rowid AS rid FROM memories_fts WHERE memories_fts MATCH @expression ORDER BY rowid DESC LIMIT @window)
         AS found CROSS JOIN memories m ON m.rid = found.rid
     WHERE m.ns_id = @ns_id AND m.id <> @except AND ${gate.sql} /* postgres: ORDER BY found.rid DESC */ LIMIT @limit`,
  );
  const newestWith = (some: readonly string[]) =>
    listing.all({
      ...gate.parameters,
      expression: `${quoted(`n${nsId.ns_id}`)} AND {title} : (${some.map(quoted).join(' OR ')})`,
      ns_id: nsId.ns_id,
      except: query.exceptId,
      window: WINDOW_ROWS,
      limit: SIMILAR_TITLE_CANDIDATES_MAX,
    }) as TitledRow[];
  const rows = newestWith(words);
  const ids = potentialContradictions(query.title, rows);
  const enough = ids.length === POTENTIAL_CONTRADICTIONS_MAX || rows.length < SIMILAR_TITLE_CANDIDATES_MAX;
  if (enough || words.length === 1) return { ids };
  for (const word of words) rows.push(...newestWith([word]));
  const distinct = new Map(rows.map((row) => [row.rid, row]));
  return { ids: potentialContradictions(query.title, [...distinct.values()]) };
}
