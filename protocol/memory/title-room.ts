import type { ErrorCode } from '../base/errors.js';
import { TITLE_LENGTH_MAX, TITLE_VERSION_MAX } from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';
import { characters } from '../base/utf8.js';
import type { Viewer } from '../base/viewer.js';
import type { DecisionContext } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { ReadRequest } from '../decide/reads.js';
import { isExpired, isVisible } from './access.js';
import type { Memory } from './memory.js';
import { memoryByTitle } from './reads.js';
import { giveWay } from './store.js';

/** The viewer that claims a title, and the rows that the same transaction removes anyway. */
export interface TitleClaim {
  readonly viewer: Viewer;
  readonly archive: boolean;
  /** Ids of rows that no longer hold the title when the transaction ends. */
  readonly leaving: readonly string[];
  /** The code of a refusal; CONFLICT unless given. */
  readonly code?: ErrorCode;
}

/**
 * Makes room for a (title, namespace): answers the mutations that must come first, or a failure when a live row holds
 * it. The failure names that row only to a viewer who may see it; an expired holder is removed.
 */
export function* titleRoom(
  memory: Pick<Memory, 'title' | 'namespace'>,
  claim: TitleClaim,
  context: DecisionContext,
): Generator<ReadRequest, Result<readonly Mutation[]>, never> {
  const holder = yield* memoryByTitle(memory.title, memory.namespace);
  if (holder === null || claim.leaving.includes(holder.id)) return ok([]);
  if (isExpired(holder, context.now)) return ok([giveWay(holder, claim.archive)]);
  return fail(
    claim.code ?? 'CONFLICT',
    `a memory with this title already exists in namespace "${memory.namespace}"`,
    isVisible(holder, claim.viewer) ? { existing_id: holder.id } : undefined,
  );
}

/** The title itself, or the first available `title (n)`; CONFLICT when all are taken. */
export function* nextTitle(
  memory: Pick<Memory, 'title' | 'namespace'>,
  claim: TitleClaim,
  context: DecisionContext,
): Generator<ReadRequest, Result<{ title: string; before: readonly Mutation[] }>, never> {
  for (let n = 1; n <= TITLE_VERSION_MAX; n += 1) {
    const title = n === 1 ? memory.title : `${memory.title} (${n})`;
    if (characters(title) > TITLE_LENGTH_MAX) break;
    const room = yield* titleRoom({ title, namespace: memory.namespace }, claim, context);
    if (room.ok) return ok({ title, before: room.value });
  }
  return fail('CONFLICT', `no free title of the form "${memory.title} (n)" is left`);
}
