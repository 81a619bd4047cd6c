import {
  potentialContradictions,
  tellingWords,
  unnumbered,
} from '../../../protocol/lifecycle/contradictions.js';
import { POTENTIAL_CONTRADICTIONS_MAX, SIMILAR_TITLE_CANDIDATES_MAX } from '../../../protocol/limits.js';
import type { NearDuplicate, SimilarTitles } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/queries.js';
import { quoted } from '../../../protocol/ranking/query.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** Words of a title that are searched for. */
const TITLE_WORDS_MAX = 8;
/** Newest matches that are examined to find visible ones. */
const WINDOW_ROWS = 5000;

const FLOAT_BYTES = 4;

interface TitledRow {
  readonly rid: number;
  readonly id: string;
  readonly title: string;
}

/**
 * The nearest of some rows that a new memory would repeat in other words (reference-http §2.3). Rows with several
 * vectors are left out: one window of such a row says nothing about the rest.
 */
export function nearDuplicate({ statements }: QueryParts, query: NearDuplicate): Answers['near-duplicate'] {
  const gate = visibleRows('m', query.viewer, query.now);
  // A taken title is a conflict by itself, or the write merges into its row; neither is a repetition.
  const untaken = `NOT EXISTS (SELECT 1 FROM memories t WHERE t.title = @title AND t.namespace = @namespace
    AND t.conflict_of IS NULL AND (t.expires_at IS NULL OR t.expires_at > @now))`;
  const rows = statements
    .get(
      `SELECT m.rid, m.id, m.title, m.content FROM json_each(@rids) AS listed
       CROSS JOIN memories m ON m.rid = listed.value JOIN memory_embeddings e ON e.rid = m.rid
       WHERE m.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)
         AND e.dim = @dim AND length(e.vectors) = @bytes AND ${gate.sql}
         AND (@versions = 1 OR ${untaken}) ORDER BY listed.key`,
    )
    .all({
      ...gate.parameters,
      rids: JSON.stringify(query.rids),
      namespace: query.namespace,
      dim: query.dim,
      bytes: query.dim * FLOAT_BYTES,
      title: query.title,
      now: query.now,
      versions: query.onConflict === 'version' ? 1 : 0,
    }) as (TitledRow & { readonly content: string })[];
  const content = query.content.trim();
  const found = rows.find(
    (row) =>
      row.content.trim() !== content &&
      // A caller that asks for another version of a title wants both rows.
      (query.onConflict !== 'version' || unnumbered(row.title) !== unnumbered(query.title)),
  );
  return {
    duplicate: found === undefined ? null : { rid: found.rid, id: found.id, title: found.title },
  };
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
     WHERE m.ns_id = @ns_id AND m.id <> @except AND ${gate.sql} LIMIT @limit`,
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
