import type { Instant } from '../base/meanings.js';
import { canonicalInstant } from '../base/time.js';
import type { Link } from '../links/link.js';

/** Which links a question about the graph counts: those that held at one instant, as known at another. */
export interface GraphMoment {
  /** Only links that hold at this instant; null for every link, also an ended one. */
  readonly validAt: Instant | null;
  /** Only what had been recorded by this instant; null for what is recorded now. */
  readonly believedAt: Instant | null;
}

/**
 * The times of a link, or of one of its earlier periods, that decide whether it counts. The optional ones matter for a
 * `believedAt`. Only an earlier period has `believed_to`, and only a link has `retired_at`.
 */
export type LinkTimes = Pick<Link, 'created_at' | 'valid_from' | 'valid_until'> &
  Partial<Pick<Link, 'retired_at' | 'believed_until' | 'believed_from'>> & {
    readonly believed_to?: Instant | null;
  };

/** When a link began to hold, as it spells it: at its creation unless it says another time. */
export const startOf = (link: LinkTimes): string => link.valid_from ?? link.created_at;

/** The end of a link as it was believed: an invalidation that was recorded later is not known yet. */
export function endOf(link: LinkTimes, { believedAt }: GraphMoment): string | null {
  const unknown = believedAt !== null && typeof link.retired_at === 'string' && link.retired_at > believedAt;
  return unknown ? (link.believed_until ?? null) : link.valid_until;
}

/** Since when the mesh was told what the oldest of its times say. */
const since = ({ believed_from, created_at }: LinkTimes): Instant => believed_from ?? created_at;

/** True for a link that counts at a moment. */
export function counts(link: LinkTimes, moment: GraphMoment): boolean {
  const { validAt, believedAt } = moment;
  const to = link.believed_to ?? null;
  if (believedAt === null ? to !== null : !(since(link) <= believedAt && (to === null || to > believedAt)))
    return false;
  if (validAt === null) return true;
  const end = endOf(link, moment);
  return instantOf(startOf(link)) <= validAt && (end === null || instantOf(end) > validAt);
}

const CANONICAL_LENGTH = '2026-01-01T00:00:00.000Z'.length;

/** Links of older databases may spell an instant in another way, because their signature covers the text. */
function instantOf(text: string): Instant {
  return text.length === CANONICAL_LENGTH && text.endsWith('Z') ? text : (canonicalInstant(text) ?? text);
}
