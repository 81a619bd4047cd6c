import type { MemoryId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { recordsWith } from '../decide/reads.js';

import { chargeFor } from '../identity/ensure-quota.js';
import { isEntity } from './entity.js';
import type { Memory, MemoryRow } from './memory.js';
import { insertMemory, removeMemory } from './memory-writes.js';
import { ownLinks } from './own-link.js';
import { standardKind } from './standard-kind.js';
import { type TitleClaim, titleRoom } from './title-room.js';

/**
 * Stores a changed memory under an id of its own, with a link to the one that it supersedes, which goes to the archive as it
 * is. CONFLICT for a memory that others find by its id: an entity, or the standard of a namespace.
 */
export function* supersede(
  row: MemoryRow,
  changed: Memory,
  { newId, ...claim }: Omit<TitleClaim, 'leaving'> & { readonly newId: MemoryId },
  context: DecisionContext,
): Deciding<{ readonly memory: Memory }> {
  const { name: kind } = standardKind;
  const asked = { kind, member: 'standard_id', value: row.id, limit: 1 } as const;
  const [standard] = yield* recordsWith(asked);
  const found = isEntity(row)
    ? 'an entity'
    : standard === undefined
      ? null
      : `the standard of "${standard.id}"`;
  if (found !== null) {
    const message = `${found} is found by its id, which such an edit would change: use edit_source "human"`;
    return fail('CONFLICT', message, { fields: ['edit_source'] });
  }
  const memory: Memory = {
    ...changed,
    id: newId,
    created_at: context.now,
    version: 1,
    access_count: 0,
    last_accessed_at: null,
    created_hlc: '',
    edited: '',
    seen: {},
  };
  const room = yield* titleRoom(memory, { ...claim, leaving: [row.id] }, context);
  if (!room.ok) return failed(room.error);
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ memory }, [
    ...room.value,
    removeMemory(row, { word: 'archive', reason: 'superseded', archive: true }),
    ...charge.value,
    insertMemory(memory),
    ...(yield* ownLinks(memory, 'supersedes', [row.id], context)),
  ]);
}
