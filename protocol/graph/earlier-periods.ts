import { LINK_EARLIER_PERIODS_MAX } from '../base/limits.js';
import type { EarlierPeriod, Link } from '../links/link.js';

/** The past of a link that is made again: what it said until then. */
export const pastWithPeriod = (link: Link): readonly EarlierPeriod[] => {
  const past = pastWithEnd(link);
  return bounded([
    ...past,
    { ...periodOf(link), believed_from: link.retired_at ?? link.created_at, believed_to: null },
  ]);
};

/** The past of a link whose end is moved again: the end before the present one would be forgotten. */
export function pastWithEnd(link: Link): readonly EarlierPeriod[] {
  const { retired_at, believed_until: valid_until, created_at, earlier } = link;
  if (retired_at === null) return earlier;
  const believed_from = link.believed_from ?? created_at;
  return bounded([...earlier, { ...periodOf(link), valid_until, believed_from, believed_to: retired_at }]);
}

function periodOf({ created_at, valid_from, valid_until, observed_by }: Link) {
  return { created_at, valid_from, valid_until, observed_by };
}

/** Corrected ends go before periods, and the oldest go first. */
function bounded(past: readonly EarlierPeriod[]): readonly EarlierPeriod[] {
  let surplus = past.length - LINK_EARLIER_PERIODS_MAX;
  if (surplus <= 0) return past;
  const kept = past.filter(({ believed_to }) => believed_to === null || surplus-- <= 0);
  return kept.slice(Math.max(0, kept.length - LINK_EARLIER_PERIODS_MAX));
}
