/** A link with what is known of its times. */
export interface TimedLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
  readonly created_at: string;
  readonly valid_from?: string | null | undefined;
  readonly valid_until?: string | null | undefined;
  /** When it was invalidated, and the end that it had before that. */
  readonly retired_at?: string | null | undefined;
  readonly believed_until?: string | null | undefined;
  readonly earlier?: readonly EarlierPeriod[] | undefined;
}

/** What tells a link from others. */
export const linkKey = ({ source_id: from, relation, target_id: to }: TimedLink): string =>
  `${from} ${relation} ${to}`;

interface EarlierPeriod {
  readonly created_at: string;
  readonly valid_from?: string | null | undefined;
  readonly valid_until?: string | null | undefined;
  readonly believed_from: string;
  readonly believed_to?: string | null | undefined;
}

const LAST = '9999';

const holdsAt = (from: string, until: string | null | undefined, at: string): boolean =>
  from <= at && at < (until ?? LAST);

/** Whether a link holds at `validAt`, as it was believed at `believedAt`. Both are instants in UTC, whose order is that of their texts. */
export function linkHolds(link: TimedLink, validAt: string, believedAt: string): boolean {
  const isRetired = typeof link.retired_at === 'string' && link.retired_at <= believedAt;
  const until = isRetired || typeof link.retired_at !== 'string' ? link.valid_until : link.believed_until;
  if (link.created_at <= believedAt && holdsAt(link.valid_from ?? link.created_at, until, validAt))
    return true;
  return (link.earlier ?? []).some(
    (period) =>
      holdsAt(period.believed_from, period.believed_to, believedAt) &&
      holdsAt(period.valid_from ?? period.created_at, period.valid_until, validAt),
  );
}

/** All instants at which something changes, in order, and none twice. */
export function momentsOf(links: readonly TimedLink[]): readonly string[] {
  const found = new Set<string>();
  const add = (instant: string | null | undefined) => {
    if (typeof instant === 'string' && instant !== '') found.add(instant);
  };
  for (const link of links) {
    for (const at of [link.created_at, link.valid_from, link.valid_until, link.retired_at]) add(at);
    for (const { valid_from, valid_until, believed_from, believed_to } of link.earlier ?? [])
      for (const at of [valid_from, valid_until, believed_from, believed_to]) add(at);
  }
  return [...found].sort();
}
