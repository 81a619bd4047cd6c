import type { AgentId, Instant } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { canonicalInstant } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isRequester, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import { ofLink } from '../decide/proposal.js';
import { isTextOrNull } from '../kinds/payload.js';
import { type Link, type LinkKey, unsigned } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { linkKey } from '../links/link-members.js';
import { linkRow } from '../links/link-row.js';
import { mayChange } from '../memory/access.js';
import { pastWithEnd } from './earlier-periods.js';
import { shownEnds } from './links.js';

/** Says that a link no longer holds; the link stays for questions about the past (interface §3). */
export interface InvalidateLink {
  readonly kind: 'invalidate-link';
  readonly link: LinkKey;
  /** When it ended; null means now, or earlier where it has ended already, and not before it began. */
  readonly validUntil: Instant | null;
  readonly viewer: Viewer;
  readonly by: AgentId;
}

/** What `invalidate-link` answers. */
export interface InvalidateLinkOutcome {
  readonly change: 'invalidated' | 'unchanged';
  /** The link as it stands now. */
  readonly link: Link;
  /** The end that it had before this command. */
  readonly previous: string | null;
}

/**
 * Ends a link, or moves its end; the end that it has changes nothing. NOT_FOUND for a missing link or a hidden end, FORBIDDEN for
 * the source of another agent. The signature covers the validity, so it does not outlive it (reference-federation §2.5).
 */
function* decideInvalidateLink(
  { link: key, validUntil, viewer, by }: InvalidateLink,
  context: DecisionContext,
): Deciding<InvalidateLinkOutcome> {
  const ends = yield* shownEnds(key, viewer, context);
  const row = ends === null ? null : yield* linkRow(key);
  if (ends === null || row === null) return fail('NOT_FOUND', 'link not found');
  if (!mayChange(ends.source, viewer))
    return fail('FORBIDDEN', 'the source of the link belongs to another agent');
  const held = row.image;
  const previous = held.valid_until;
  const began = instantOf(held.valid_from);
  if (validUntil !== null && began !== null && validUntil < began) {
    const message = 'valid_until lies before valid_from of the link';
    return fail('VALIDATION_FAILED', message, { fields: ['valid_until'], valid_from: held.valid_from });
  }
  const end = validUntil ?? endedBy(context.now, began, instantOf(previous));
  if (held.retired_at !== null && end === instantOf(previous))
    return decided({ change: 'unchanged', link: held, previous }, []);
  const link: Link = {
    ...unsigned(held),
    valid_until: end,
    believed_until: held.valid_until,
    believed_from: held.retired_at,
    earlier: pastWithEnd(held),
    retired_at: context.now,
  };
  const { source_id, target_id, relation, valid_until, believed_until } = link;
  const payload = {
    ...{ source_id, target_id, relation, valid_until },
    ...(believed_until === null ? {} : { previous_valid_until: believed_until }),
  };
  const audit: Mutation = appendAudit({ event: { agentId: by, type: 'memory_link.invalidated', payload } });
  return decided({ change: 'invalidated', link, previous }, [
    {
      ...{ mutation: 'write', kind: linkKind.name, id: row.id, word: 'link.invalidate' },
      ...{ namespace: row.namespace, seen: row.stamp.seen, before: held, image: link },
    },
    audit,
  ]);
}

/** Signed texts of older databases may spell an instant in another way. */
const instantOf = (text: string | null): Instant | null =>
  text === null ? null : (canonicalInstant(text) ?? text);

/** The earlier of now and the end that it had, and not before its beginning. */
function endedBy(now: Instant, began: Instant | null, end: Instant | null): Instant {
  const earlier = end !== null && end < now ? end : now;
  return began !== null && began > earlier ? began : earlier;
}

export const invalidateLinkCommand = defineCommand({
  kind: 'invalidate-link',
  decide: decideInvalidateLink,
  gate: {
    action: 'kg_invalidate',
    about: ({ link }) => link.source_id,
    proposes: ({ link, validUntil }) => ofLink(link, { valid_until: validUntil }),
  },
  read: shaped<InvalidateLink>('invalidate-link', {
    link: linkKey,
    ...{ validUntil: isTextOrNull, by: isRequester },
  }),
});
