import { z } from 'zod';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { Call } from '../../pipeline/call.js';

const shipped = z.object({
  memory_id: z.string(),
  model: z.string(),
  dim: z.int().min(1).max(16_384),
  vector: z.array(z.number()),
});

/** A vector that a sender computed for a memory (reference-federation §1.5). */
export type ShippedVector = z.output<typeof shipped>;

/** The readable vectors of a push, by the memory's id in the push; unreadable ones count as absent. */
export function readShippedVectors(items: readonly unknown[]): ReadonlyMap<string, ShippedVector> {
  return new Map(
    items.flatMap((item) => {
      const parsed = shipped.safeParse(item);
      return parsed.success ? [[parsed.data.memory_id, parsed.data] as const] : [];
    }),
  );
}

/**
 * Stores a shipped vector with a row whose text is the sender's. A vector of another model, dimension or length, or
 * with a component that is not a number, is ignored: the row is then embedded in the background like any other.
 */
export async function putShippedVector(
  { services, caller, now }: Call,
  id: string,
  sent: Memory,
  { model, dim, vector }: ShippedVector,
): Promise<void> {
  const local = services.semantic.state();
  if (!local.enabled || local.dim !== dim || local.model !== model || vector.length !== dim) return;
  const norm = Math.hypot(...vector);
  if (!Number.isFinite(norm) || norm === 0) return;
  const found = await services.store.query({ kind: 'get-memory', id, viewer: caller.viewer, now });
  if (!found.ok) return;
  const { memory } = found.value;
  if (memory.id !== id || memory.content !== sent.content || memory.title !== sent.title) return;
  const values = Float32Array.from(vector, (value) => value / norm);
  await services.store.execute({
    kind: 'put-embeddings',
    rows: [
      {
        rid: memory.rid,
        id,
        version: memory.version,
        state: EMBED_STATES.embedded,
        model,
        dim,
        vectors: new Uint8Array(values.buffer),
      },
    ],
  });
}
