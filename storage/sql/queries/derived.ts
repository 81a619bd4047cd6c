import type { DerivedMemories } from '../../../protocol/erasure/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** Relations whose source was made from their target. */
const MADE_FROM = "('derived_from', 'derives_from', 'reflects_on')";

/** Memories that atoms, consolidations, reflections and clones were made from need not be there any more. */
export function derivedMemories(
  { statements }: QueryParts,
  { ids, viewer, now, limit }: DerivedMemories,
): Answers['derived-memories'] {
  const gate = visibleRows('m', viewer, now);
  const rows = statements
    .get(
      `SELECT m.id FROM memories m WHERE ${gate.sql} AND m.id IN (
         SELECT a.id FROM memories a WHERE a.atom_of IN (SELECT value FROM json_each(@ids))
         UNION SELECT l.source_id FROM memory_links l
           WHERE l.target_id IN (SELECT value FROM json_each(@ids)) AND l.relation IN ${MADE_FROM}
         UNION SELECT l.target_id FROM memory_links l
           WHERE l.source_id IN (SELECT value FROM json_each(@ids)) AND l.relation = 'decomposes_into')
         AND m.id NOT IN (SELECT value FROM json_each(@ids))
       ORDER BY m.id LIMIT @limit`,
    )
    .all({ ...gate.parameters, ids: JSON.stringify(ids), limit }) as { id: string }[];
  return { ids: rows.map(({ id }) => id) };
}
