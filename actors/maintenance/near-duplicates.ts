import { NEAR_DUPLICATE_ROUND_MAX } from '../../protocol/base/limits.js';
import type { Instant } from '../../protocol/base/meanings.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

/** The pause when everything is compared; a change in the database ends it earlier. */
const IDLE_MS = 5000;
const RETRY_MS = 1000;

/** How far the comparison has come; null before its first round in this process. */
export interface ReviewPlace {
  through: number | null;
  /** What the database says of it. */
  noted: number;
}

export const reviewFromStart = (): ReviewPlace => ({ through: null, noted: 0 });

/**
 * One round of the search for near duplicates: compares the rows that were written since the last round with the rows of
 * their namespaces, and flags pairs that say nearly the same. It runs after the commit, in the background lane, so it
 * delays no store. The place is written with pairs, or after a whole round; after a crash some rows are compared again.
 */
export async function nearDuplicatesRound(
  store: Store,
  place: ReviewPlace,
  now: Instant,
  withinMs: number | null,
): Promise<NextRound> {
  const limit = NEAR_DUPLICATE_ROUND_MAX;
  const reviewed = await store.query(
    { kind: 'review-written', after: place.through, limit, withinMs, now },
    { lane: 'background' },
  );
  if (!reviewed.ok) return { afterMs: RETRY_MS };
  const { pairs, from, through, more } = reviewed.value;
  if (place.through === null) place.noted = from;
  if (pairs.length > 0 || through >= place.noted + limit) {
    const flagged = await store.execute(
      { kind: 'flag-near-duplicates', pairs, through },
      { lane: 'background' },
    );
    if (!flagged.ok) return { afterMs: RETRY_MS };
    place.noted = through;
  }
  place.through = through;
  return { afterMs: more ? 0 : IDLE_MS };
}
