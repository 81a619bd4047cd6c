import { TermFinder } from './found-terms.js';
import type { VectorEvidence } from './types.js';

/** Only rows this near the top of an answer count as used. */
const USED_RANKS = 3;
/** A row counts when it holds this share of the telling words of the query … */
const USED_SHARE_MIN = 0.5;
/** … or when its meaning stands out this far, in standard deviations, and is this near, as a cosine. */
const USED_DEVIATIONS_MIN = 3.5;
const USED_COSINE_MIN = 0.5;

interface AnsweredRow {
  readonly memory: {
    readonly id: string;
    readonly rid: number;
    readonly title: string;
    readonly content: string;
    readonly tags: readonly string[];
  };
}

/**
 * The ids of the rows that a recall used: those near the top of its answer, best first, that bear on the query. Other rows
 * only fill the answer, and reading them neither extends nor promotes them.
 */
export function usedRows(
  query: string,
  rows: readonly AnsweredRow[],
  vectors: VectorEvidence | null,
): string[] {
  const finder = new TermFinder(query);
  return rows
    .slice(0, USED_RANKS)
    .filter(({ memory }) => {
      const { title, content, tags, rid } = memory;
      return (
        finder.share(`${title} ${tags.join(' ')} ${content}`) >= USED_SHARE_MIN || standsOut(rid, vectors)
      );
    })
    .map(({ memory }) => memory.id);
}

function standsOut(rid: number, vectors: VectorEvidence | null): boolean {
  const cosine = vectors?.hits.find((hit) => hit.rid === rid)?.cosine;
  if (vectors === null || cosine === undefined || vectors.deviation <= 0) return false;
  return cosine >= USED_COSINE_MIN && (cosine - vectors.mean) / vectors.deviation >= USED_DEVIATIONS_MIN;
}
