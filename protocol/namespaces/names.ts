import { ENTITY_MATCHES_MAX } from '../base/limits.js';
import type { DecisionContext } from '../decide/deciding.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import type { Row } from '../decide/rows.js';
import { isExpired } from '../memory/access.js';
import { type Alias, aliasKind } from '../memory/alias-kind.js';
import { foldedAlias, isEntity } from '../memory/entity.js';
import type { MemoryRow } from '../memory/memory.js';
import { memoryById } from '../memory/reads.js';

/** A name in the form in which names are compared, and the entity that asks for it, if there is one. */
export interface NameClaim {
  readonly folded: string;
  readonly namespace: string;
  readonly except: string | null;
}

/** The living entity of a namespace that has a name; first the one whose canonical name it is. */
export function* nameHolder(
  { folded, namespace, except }: NameClaim,
  { now }: DecisionContext,
): Reading<MemoryRow | null> {
  const asked = { kind: aliasKind.name, member: 'folded', value: folded, limit: ENTITY_MATCHES_MAX };
  const rows = (yield* recordsWith(asked)) as readonly Row<Alias>[];
  let holder: MemoryRow | null = null;
  for (const { image } of rows) {
    if (image.namespace !== namespace || image.memory_id === except) continue;
    const row = yield* memoryById(image.memory_id);
    if (row === null || !isEntity(row) || row.namespace !== namespace || isExpired(row, now)) continue;
    if (foldedAlias(row.title) === folded) return row;
    holder ??= row;
  }
  return holder;
}
