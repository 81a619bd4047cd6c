import type { DecisionContext } from '../decide/deciding.js';
import type { Write } from '../decide/mutations.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import { NO_REST } from '../kinds/payload.js';
import { type Link, linkId, type Relation, UNENDED } from '../links/link.js';
import { linkKind } from '../links/link-kind.js';
import { linkRow } from '../links/link-row.js';
import type { Memory } from './memory.js';

/**
 * The links that a change of memories makes by itself: from a memory to those that it came from or takes the place of. A
 * link that is there stays as it is. They are part of the change, so they are not charged as links.
 */
export function* ownLinks(
  source: Memory,
  relation: Relation,
  targets: readonly string[],
  { now }: DecisionContext,
): Reading<readonly Write<Link>[]> {
  const links = targets.map(
    (target_id): Link => ({
      ...{ source_id: source.id, target_id, relation, created_at: now, valid_from: now, valid_until: null },
      ...{ observed_by: ownerOf(source), signature: null, attest_level: 'unsigned', signed_at: null },
      ...{ public_key: null, ...UNENDED, rest: NO_REST },
    }),
  );
  return yield* newLinks(source, links);
}

/** The writes of those links of a memory that are not there. */
export function* newLinks(source: Memory, links: readonly Link[]): Reading<readonly Write<Link>[]> {
  const writes: Write<Link>[] = [];
  for (const link of links) {
    if ((yield* linkRow(link)) !== null) continue;
    const subject = { kind: linkKind.name, id: linkId(link) };
    const tombstone = yield* tombstoneOf(subject);
    writes.push({
      ...{ mutation: 'write', ...subject, word: 'link', namespace: source.namespace },
      ...{ seen: tombstone?.seen ?? {}, before: null, image: link },
    });
  }
  return writes;
}
