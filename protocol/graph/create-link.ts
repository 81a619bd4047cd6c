import { REFLECTION_LINKS_EXAMINED_MAX } from '../base/limits.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import { canonicalInstant } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { exactly, isRequester, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import { ofLink } from '../decide/proposal.js';
import { tombstoneOf } from '../decide/reads.js';
import { chargeLinks } from '../identity/ensure-quota.js';
import { isTextOrNull } from '../kinds/payload.js';
import { type Link, linkId } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { isLink } from '../links/link-members.js';
import { linkRow } from '../links/link-row.js';
import { mayChange } from '../memory/access.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { replaceMemory } from '../memory/memory-writes.js';
import { endedBy } from '../memory/validity.js';
import { pastWithPeriod } from './earlier-periods.js';
import { shownEnds } from './links.js';
import { leadsBack } from './reads.js';
import { dependentsOf } from './superseded-reflections.js';

/** Links two memories; a link that holds stays as it is. */
export interface CreateLink {
  readonly kind: 'create-link';
  /** As it is stored when it is new; its validity begins now where the caller named no beginning. */
  readonly link: Link;
  /** The validity as far as the caller named it. */
  readonly asked: { readonly valid_from: Instant | null; readonly valid_until: Instant | null };
  readonly viewer: Viewer;
  readonly by: AgentId;
}

/** What `create-link` answers. A link that would close a cycle of reflections is refused. */
export interface CreateLinkOutcome {
  readonly change: 'created' | 'unchanged' | 'refused';
  /** The link that stands now, or that was refused. */
  readonly link: Link;
  /** The memories whose owners were told that the reflection was superseded on which they reflect. */
  readonly notified: readonly MemoryId[];
  /** When the validity of the superseded memory ends, where the link ended it. */
  readonly ended?: Instant;
}

/**
 * Links two memories that the caller sees, of which it may change the source. A link that was not invalidated and has not
 * ended stays as it is; another one begins a new validity, and what it said before stays in its past. NOT_FOUND for a hidden end, FORBIDDEN for the
 * source of another agent, CONFLICT for a link that holds in another time than the caller says, QUOTA_EXCEEDED. A link that
 * would close a cycle of reflections is refused, and the refusal is recorded and charged.
 */
function* decideCreateLink(
  { link, asked, viewer, by }: CreateLink,
  context: DecisionContext,
): Deciding<CreateLinkOutcome> {
  if (link.source_id === link.target_id)
    return fail('VALIDATION_FAILED', 'a memory cannot link to itself', { fields: ['target_id'] });
  const ends = yield* shownEnds(link, viewer, context);
  if (ends === null) return fail('NOT_FOUND', 'memory not found');
  const { source } = ends;
  if (!mayChange(source, viewer)) return fail('FORBIDDEN', 'the source of the link belongs to another agent');

  const row = yield* linkRow(link);
  const held = row?.image ?? null;
  if (held !== null && isSame(held, asked, context))
    return decided({ change: 'unchanged', link: held, notified: [] }, []);
  if (held !== null && holds(held, context)) {
    const { valid_from, valid_until } = held;
    const message = 'the link is there with another validity: invalidate it, or delete it, and link again';
    return fail('CONFLICT', message, { valid_from, valid_until });
  }
  const charged = yield* chargeLinks(source, 1, viewer, context);
  if (!charged.ok) return failed(charged.error);
  const event = (type: string): Mutation => {
    const { source_id, target_id, relation, attest_level } = link;
    const payload = { source_id, target_id, relation, attest_level };
    return appendAudit({ event: { agentId: by, type, payload } });
  };
  if (link.relation === 'reflects_on') {
    const leads = yield* leadsBack({ link, rowsMax: REFLECTION_LINKS_EXAMINED_MAX });
    if (leads === 'unknown')
      return fail('CONFLICT', 'too many reflections lie behind the target to rule out a cycle');
    if (leads === 'yes')
      return decided({ change: 'refused', link, notified: [] }, [
        ...charged.value,
        event('reflects_on.cycle_refused'),
      ]);
  }
  const subject = { kind: linkKind.name, id: linkId(link) };
  const tombstone = row === null ? yield* tombstoneOf(subject) : null;
  const seen = row?.stamp.seen ?? tombstone?.seen ?? {};
  const namespace = row?.namespace ?? source.namespace;
  const word = 'link';
  const image = held === null ? link : { ...link, earlier: pastWithPeriod(held) };
  const told = yield* dependentsOf(link, ends, viewer, context.now);
  const notified = told.flatMap(({ memories }) => memories);
  const ended = supersededBy(link, ends, { viewer, asked }, context);
  return decided(
    { change: 'created', link: image, notified, ...(ended === null ? {} : { ended: ended.valid_until! }) },
    [
      { mutation: 'write', ...subject, word, namespace, seen, before: held, image },
      ...(ended === null ? [] : [replaceMemory(ends.target, ended, { reembed: false })]),
      ...charged.value,
      event('memory_link.created'),
    ],
  );
}

/**
 * The target of a `supersedes` link with the end of its validity, which is the beginning of the source; null where it has ended
 * by then, and where the caller may not change it.
 */
function supersededBy(
  link: Link,
  { source, target }: { readonly source: MemoryRow; readonly target: MemoryRow },
  { viewer, asked }: Pick<CreateLink, 'viewer' | 'asked'>,
  { now }: DecisionContext,
): Memory | null {
  if (link.relation !== 'supersedes' || !mayChange(target, viewer)) return null;
  return endedBy(target, source.valid_from ?? asked.valid_from ?? now, now);
}

/** True for a link that was not invalidated, and whose time has not ended. */
const holds = ({ retired_at, valid_until }: Link, { now }: DecisionContext): boolean =>
  retired_at === null && (valid_until === null || (canonicalInstant(valid_until) ?? valid_until) > now);

/** True for a link that was not invalidated and that says what the caller asks for. */
function isSame(link: Link, asked: CreateLink['asked'], context: DecisionContext): boolean {
  if (link.retired_at !== null) return false;
  if (asked.valid_from !== null && asked.valid_from !== link.valid_from) return false;
  return asked.valid_until === null ? holds(link, context) : asked.valid_until === link.valid_until;
}

export const createLinkCommand = defineCommand({
  kind: 'create-link',
  decide: decideCreateLink,
  gate: {
    action: 'link',
    about: ({ link }) => link.source_id,
    proposes: ({ link, asked }) => ofLink(link, asked),
  },
  read: shaped<CreateLink>('create-link', {
    link: isLink,
    asked: exactly({ valid_from: isTextOrNull, valid_until: isTextOrNull }),
    by: isRequester,
  }),
  uses: ({ command: { link }, outcome: { change } }) =>
    change === 'refused'
      ? []
      : [
          [link.source_id, 'linked'],
          [link.target_id, link.relation === 'supersedes' ? 'superseded' : 'linked'],
        ],
  tells: { post_link: ({ outcome }) => (outcome.change === 'refused' ? [] : [{ linked: outcome }]) },
});
