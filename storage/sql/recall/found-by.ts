import type { FoundBy } from '../../../protocol/memory/recall-request.js';
import type { LexicalEvidence } from '../../../protocol/ranking/lexical.js';

/** A row means what the query does when it is nearer than the mean by so many standard deviations. */
const MEANING_DEVIATIONS_MIN = 1;

/** What a row has of the query; `semantic` is its nearness in standard deviations, null without a vector. */
export function foundByOf(
  evidence: Pick<LexicalEvidence, 'words'> | undefined,
  semantic: number | null | undefined,
): FoundBy {
  const hasWords = (evidence?.words ?? 0) > 0;
  const hasMeaning = (semantic ?? 0) >= MEANING_DEVIATIONS_MIN;
  return hasWords ? (hasMeaning ? 'both' : 'words') : hasMeaning ? 'meaning' : 'neighbours';
}
