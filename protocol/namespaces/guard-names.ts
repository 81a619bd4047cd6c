import { fail, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import type { AnyCommand } from '../decide/command.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import { isExpired, isVisible } from '../memory/access.js';
import { type Alias, aliasKind } from '../memory/alias-kind.js';
import { entityIdOf, foldedAlias, isEntity } from '../memory/entity.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { nameHolder } from './names.js';

/**
 * Refuses every write after which an entity would have a name or an alias of another entity of its namespace, whatever
 * its rule says: new entities, renames, restores, undone edits, imports. An alias may also be one of another entity of
 * the agent that adds it.
 */
export function* guardNames<T>(
  command: AnyCommand,
  result: Result<Decision<T>>,
  context: DecisionContext,
): Reading<Result<Decision<T>>> {
  if (!result.ok) return result;
  const { mutations } = result.value;
  for (const mutation of mutations) {
    const holder = yield* holderOf(mutation, mutations, context);
    if (holder === null) continue;
    const { viewer } = command as { readonly viewer?: Viewer };
    const message = `another entity of namespace "${holder.namespace}" has this name or alias`;
    return fail(
      'CONFLICT',
      message,
      viewer !== undefined && isVisible(holder, viewer)
        ? { existing_id: holder.id, entity_id: entityIdOf(holder.id) }
        : undefined,
    );
  }
  return result;
}

function* holderOf(
  mutation: Mutation,
  mutations: readonly Mutation[],
  context: DecisionContext,
): Reading<MemoryRow | null> {
  if (mutation.mutation !== 'write') return null;
  const leaves = (id: string) =>
    mutations.some(
      (other) => other.mutation === 'remove' && other.kind === memoryKind.name && other.id === id,
    );
  if (mutation.kind === aliasKind.name) {
    const { folded, namespace, memory_id: id, added_by: by } = mutation.image as Alias;
    const holder = yield* nameHolder({ folded, namespace, except: id }, context);
    return holder === null || leaves(holder.id) || (by !== null && ownerOf(holder) === by) ? null : holder;
  }
  if (mutation.kind !== memoryKind.name) return null;
  const image = mutation.image as Memory;
  if (!isEntity(image)) return null;
  const { id, namespace, title } = image;
  const before = mutation.before as Memory | null;
  const had = before !== null && isEntity(before) && !isExpired(before, context.now);
  if (had && before.title === title && before.namespace === namespace) return null;
  const holder = yield* nameHolder({ folded: foldedAlias(title), namespace, except: id }, context);
  return holder === null || leaves(holder.id) ? null : holder;
}
