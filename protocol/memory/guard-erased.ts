import { fail, type Result } from '../base/result.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';

/** Refuses every write that would bring back an erased subject, whatever its rule says: restores, imports, rows of peers. */
export function* guardErased<T>(
  result: Result<Decision<T>>,
  { kinds }: DecisionContext,
): Reading<Result<Decision<T>>> {
  if (!result.ok) return result;
  for (const mutation of result.value.mutations) {
    if (mutation.mutation !== 'write' || mutation.before !== null) continue;
    const { kind, id, seen } = mutation;
    // A subject that nobody removed has seen nothing.
    if (kinds.of(kind).final.length === 0 || Object.keys(seen).length === 0) continue;
    const removed = yield* tombstoneOf({ kind, id });
    if (removed !== null && kinds.of(kind).final.includes(removed.word))
      return fail('ERASED', `memory ${id} was erased: store the text as a new memory`, { id });
  }
  return result;
}
