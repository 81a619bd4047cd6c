import {
  NEAR_DUPLICATE_REFUSE_WAIT_MS,
  NEAR_DUPLICATE_WAIT_MS,
  POTENTIAL_CONTRADICTIONS_WAIT_MS,
} from '../../../protocol/base/limits.js';
import { type Failure, fail } from '../../../protocol/base/result.js';
import type { NearDuplicate } from '../../../protocol/memory/look-alikes.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

/** What a store finds beside its write. */
export interface StoreFindings {
  /** Ids of visible memories with similar titles. */
  readonly similar: readonly string[];
  /** Visible memories that say nearly the same; empty also when the look was not finished. */
  readonly near: readonly NearDuplicate[];
}

const NOTHING: StoreFindings = { similar: [], near: [] };

/**
 * Refuses a memory that says the same as a visible one of its namespace, word for word, where the operator wants that
 * (`[memory] near_duplicate = "refuse"`); null otherwise. A memory with another title, number, date, name, negation or
 * identifier is never refused, and the answer does not send the caller to change the other memory.
 */
export async function repetition(call: ReadCall, memory: Memory): Promise<Failure | null> {
  const found = await call.services.storeAdvice.within(
    lookAlikes(call, memory, NEAR_DUPLICATE_REFUSE_WAIT_MS),
    NEAR_DUPLICATE_REFUSE_WAIT_MS,
  );
  const same = found?.find((other) => other.same);
  if (same === undefined) return null;
  const refusal = fail('CONFLICT', `a memory in namespace "${memory.namespace}" says the same`, {
    existing_id: same.id,
    existing_title: same.title,
    similarity: same.similarity,
    reason: 'near_duplicate',
    hint: 'there is nothing to store; force stores it all the same, beside the other one',
  });
  return refusal.ok ? null : refusal.error;
}

/**
 * Writes, and at the same time looks for visible memories with similar titles and for those that say nearly the same, so
 * that neither look delays a caller.
 *
 * Decision: a look costs a reader as much as the write costs the writer, so stores under load get none (`StoreAdvice`),
 * nor does a store when the readers have no time. Near duplicates that are not found here are flagged later.
 */
export async function besideFindings<T>(
  call: ReadCall,
  memory: Memory,
  advised: boolean,
  write: () => Promise<T>,
): Promise<[found: StoreFindings, written: T]> {
  if (!advised) return [NOTHING, await write()];
  const { storeAdvice, settings } = call.services;
  const room = storeAdvice.begin();
  try {
    const [similar, near, written] = await Promise.all([
      room ? similarTitles(call, memory) : [],
      room && settings.nearDuplicate !== 'off'
        ? storeAdvice.within(lookAlikes(call, memory, NEAR_DUPLICATE_WAIT_MS), NEAR_DUPLICATE_WAIT_MS)
        : null,
      write(),
    ]);
    return [{ similar, near: near ?? [] }, written];
  } finally {
    storeAdvice.end();
  }
}

async function lookAlikes(call: ReadCall, { namespace, title, content, id }: Memory, timeoutMs: number) {
  const { viewer } = call.caller;
  const query = { kind: 'find-look-alikes', namespace, title, content, exceptId: id, viewer } as const;
  const found = await call.services.store.query(
    { ...query, now: call.now },
    { lane: 'background', timeoutMs },
  );
  return found.ok ? found.value.found : [];
}

async function similarTitles(call: ReadCall, memory: Memory): Promise<readonly string[]> {
  const found = await call.services.store.query(
    {
      kind: 'similar-titles',
      namespace: memory.namespace,
      title: memory.title,
      exceptId: memory.id,
      viewer: call.caller.viewer,
      now: call.now,
    },
    { lane: 'background', timeoutMs: POTENTIAL_CONTRADICTIONS_WAIT_MS },
  );
  return found.ok ? found.value.ids : [];
}
