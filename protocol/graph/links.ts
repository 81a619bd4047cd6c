import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { memoryById, read } from '../decide/reads.js';
import { linkKind } from '../kinds/link-kind.js';
import { NO_REST } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { Viewer } from '../ranking/types.js';
import { fail } from '../result.js';
import { type Link, type LinkKey, linkId } from './link.js';

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

/** Removes a link; its tombstone replicates. */
export interface DropLink {
  readonly kind: 'drop-link';
  readonly link: LinkKey;
  readonly viewer: Viewer;
}

/** What `drop-link` answers. */
export interface DropLinkOutcome {
  readonly dropped: Link;
}

/** Imports a link between two existing memories; an existing link stays as it is. */
export function* decideImportLink(
  { link }: ImportLink,
  context: DecisionContext,
): Deciding<ImportLinkOutcome> {
  if (link.source_id === link.target_id) return fail('VALIDATION_FAILED', 'a memory cannot link to itself');
  const source = yield* memoryById(link.source_id);
  const target = yield* memoryById(link.target_id);
  for (const end of [source, target]) {
    if (end === null || isExpired(end, context.now))
      return fail('NOT_FOUND', 'an end of the link is missing');
  }
  const subject = { kind: linkKind.name, id: linkId(link) };
  if ((yield* read('subject-row', subject)) !== null) return decided({ change: 'unchanged' }, []);
  // A dropped link comes back with a version after its removal, so nodes merge the two.
  const tombstone = yield* read('tombstone', subject);
  return decided({ change: 'created' }, [
    {
      ...{ mutation: 'write', ...subject, word: 'link', namespace: source!.namespace },
      ...{ seen: tombstone?.seen ?? {}, before: null, image: link },
    },
  ]);
}

/**
 * Removes a link. NOT_FOUND for a missing link or one whose source the caller may not see, FORBIDDEN when the caller
 * may not change the source.
 */
export function* decideDropLink(
  { link, viewer }: DropLink,
  context: DecisionContext,
): Deciding<DropLinkOutcome> {
  const subject = { kind: linkKind.name, id: linkId(link) };
  const row = yield* read('subject-row', subject);
  const source = yield* memoryById(link.source_id);
  const shown = source !== null && !isExpired(source, context.now) && isVisible(source, viewer);
  if (row === null || !shown) return fail('NOT_FOUND', 'link not found');
  if (!mayChange(source, viewer)) return fail('FORBIDDEN', 'the source of the link belongs to another agent');
  const { namespace, stamp } = row;
  return decided({ dropped: row.image as Link }, [
    {
      ...{ mutation: 'remove', ...subject, word: 'link.drop', namespace, seen: stamp.seen },
      ...{ before: row.image, reason: 'delete', facts: { rest: NO_REST }, keepCopy: false },
    },
  ]);
}
