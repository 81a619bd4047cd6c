import {
  NEAR_DUPLICATE_SIMILARITY_MIN,
  NEAR_DUPLICATE_WAIT_MS,
  POTENTIAL_CONTRADICTIONS_WAIT_MS,
} from '../../protocol/limits.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { OnConflict } from '../../protocol/memory/on-conflict.js';
import { type Failure, fail } from '../../protocol/result.js';
import type { ReadCall } from '../pipeline/call.js';

/**
 * Refuses a memory that says nearly the same as a visible one of its namespace, in other words (reference-http §2.3):
 * CONFLICT with the other's id, title and similarity; null when no memory does. Also null when the semantic side cannot
 * answer at once: it never delays a store.
 */
export async function nearDuplicate(
  call: ReadCall,
  memory: Memory,
  onConflict: OnConflict,
): Promise<Failure | null> {
  const { semantic, store } = call.services;
  if (!semantic.state().enabled) return null;
  const { namespace, title, content } = memory;
  const { viewer } = call.caller;
  const evidence = await semantic.evidence({
    query: `${title} ${content}`,
    contextTokens: [],
    namespace,
    viewer,
    beforeStore: true,
  });
  if (typeof evidence === 'string') return null;
  const near = evidence.hits.filter(({ cosine }) => cosine >= NEAR_DUPLICATE_SIMILARITY_MIN);
  if (near.length === 0) return null;
  const found = await store.query(
    {
      kind: 'near-duplicate',
      namespace,
      rids: near.map(({ rid }) => rid),
      dim: evidence.queryVector.length,
      title,
      content,
      onConflict,
      viewer,
      now: call.now,
    },
    { timeoutMs: NEAR_DUPLICATE_WAIT_MS },
  );
  const duplicate = found.ok ? found.value.duplicate : null;
  if (duplicate === null) return null;
  const cosine = near.find(({ rid }) => rid === duplicate.rid)?.cosine ?? NEAR_DUPLICATE_SIMILARITY_MIN;
  const refusal = fail('CONFLICT', `a memory in namespace "${namespace}" says nearly the same`, {
    existing_id: duplicate.id,
    existing_title: duplicate.title,
    similarity: Math.round(Math.min(1, cosine) * 1000) / 1000,
    reason: 'near_duplicate_with_differing_content',
    hint: 'update the existing memory, or store this one with force',
  });
  return refusal.ok ? null : refusal.error;
}

/**
 * Writes, and at the same time looks for visible memories with similar titles, so that the search delays no caller.
 *
 * Decision: the search costs a reader as much as the write costs the writer, so stores under load get none
 * (`StoreAdvice`), nor does a store when the readers have no time.
 */
export async function besideSimilarTitles<T>(
  call: ReadCall,
  memory: Memory,
  advised: boolean,
  write: () => Promise<T>,
): Promise<[ids: readonly string[], written: T]> {
  if (!advised) return [[], await write()];
  const { storeAdvice } = call.services;
  const room = storeAdvice.begin();
  try {
    return await Promise.all([room ? similarTitles(call, memory) : [], write()]);
  } finally {
    storeAdvice.end();
  }
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
