import type { MemoryId } from '../base/meanings.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isId, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { ofLink } from '../decide/proposal.js';
import { type Reading, subjectRow, tombstoneOf } from '../decide/reads.js';
import type { Row } from '../decide/rows.js';
import { NO_REST, oneOf } from '../kinds/payload.js';
import { type Link, type LinkKey, linkId, RELATIONS, type Relation } from '../links/link.js';
import { linkKind, linkWord } from '../links/link-kind.js';
import { linkRow } from '../links/link-row.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { MemoryRow } from '../memory/memory.js';
import { memoryById } from '../memory/reads.js';

export interface ImportLink {
  readonly kind: 'import-link';
  readonly link: Link;
  /** The caller, whose quota is charged; absent for a peer. */
  readonly viewer?: Viewer;
}

/** What `import-link` answers. */
export interface ImportLinkOutcome {
  readonly change: 'created' | 'unchanged';
}

/** Removes links between two memories; their tombstones replicate. */
export interface DropLinks {
  readonly kind: 'drop-links';
  readonly sourceId: MemoryId;
  readonly targetId: MemoryId;
  /** Null removes the links of all relations. */
  readonly relation: Relation | null;
  readonly viewer: Viewer;
}

/** What `drop-links` answers. */
export interface DropLinksOutcome {
  readonly dropped: readonly Link[];
}

/** The ends of a link that the caller can see; null when one of them is missing, expired or hidden. */
export function* shownEnds(
  { source_id, target_id }: Pick<LinkKey, 'source_id' | 'target_id'>,
  viewer: Viewer,
  { now }: DecisionContext,
): Reading<{ readonly source: MemoryRow; readonly target: MemoryRow } | null> {
  const source = yield* memoryById(source_id);
  const target = yield* memoryById(target_id);
  const isShown = (end: MemoryRow | null) => end !== null && !isExpired(end, now) && isVisible(end, viewer);
  return isShown(source) && isShown(target) ? { source: source!, target: target! } : null;
}

/** Imports a link between two existing memories; an existing link stays as it is. */
function* decideImportLink({ link }: ImportLink, context: DecisionContext): Deciding<ImportLinkOutcome> {
  if (link.source_id === link.target_id) return fail('VALIDATION_FAILED', 'a memory cannot link to itself');
  const source = yield* memoryById(link.source_id);
  const target = yield* memoryById(link.target_id);
  for (const end of [source, target]) {
    if (end === null || isExpired(end, context.now))
      return fail('NOT_FOUND', 'an end of the link is missing');
  }
  const subject = { kind: linkKind.name, id: linkId(link) };
  if ((yield* subjectRow(subject)) !== null) return decided({ change: 'unchanged' }, []);
  // A dropped link comes back with a version after its removal, so nodes merge the two.
  const tombstone = yield* tombstoneOf(subject);
  return decided({ change: 'created' }, [
    {
      ...{ mutation: 'write', ...subject, word: linkWord(link), namespace: source!.namespace },
      ...{ seen: tombstone?.seen ?? {}, before: null, image: link },
    },
  ]);
}

/**
 * Removes the link of one relation, or of all, between two memories. Removes nothing where an end is hidden from the
 * caller; FORBIDDEN for links that are there and of which the caller owns neither end.
 */
function* decideDropLinks(
  { sourceId, targetId, relation, viewer }: DropLinks,
  context: DecisionContext,
): Deciding<DropLinksOutcome> {
  const pair = { source_id: sourceId, target_id: targetId };
  const ends = yield* shownEnds(pair, viewer, context);
  if (ends === null) return decided({ dropped: [] }, []);
  const rows: Row<Link>[] = [];
  for (const each of relation === null ? RELATIONS : [relation]) {
    const row = yield* linkRow({ ...pair, relation: each });
    if (row !== null) rows.push(row);
  }
  if (rows.length > 0 && !mayChange(ends.source, viewer) && !mayChange(ends.target, viewer)) {
    return fail('FORBIDDEN', 'both ends of the link belong to other agents');
  }
  const removals = rows.map(({ id, namespace, stamp, image }) => ({
    ...({ mutation: 'remove', kind: linkKind.name, word: 'link.drop', reason: 'delete' } as const),
    ...{ id, namespace, seen: stamp.seen, before: image, facts: { rest: NO_REST }, keepCopy: false },
  }));
  return decided({ dropped: rows.map(({ image }) => image) }, removals);
}

export const importLinkCommand = defineCommand({
  kind: 'import-link',
  decide: decideImportLink,
  gate: 'operator',
});

export const dropLinksCommand = defineCommand({
  kind: 'drop-links',
  decide: decideDropLinks,
  gate: {
    action: 'unlink',
    about: ({ sourceId }) => sourceId,
    proposes: ({ sourceId: source_id, targetId: target_id, relation }) =>
      ofLink({ source_id, target_id, relation }, null),
  },
  read: shaped<DropLinks>('drop-links', {
    ...{ sourceId: isId, targetId: isId, relation: (value) => value === null || oneOf(RELATIONS)(value) },
  }),
});
