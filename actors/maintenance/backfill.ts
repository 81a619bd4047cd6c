import { EMBED_STATES, type EmbeddedRow } from '../../protocol/memory/embed-state.js';
import type { Answers } from '../../protocol/queries.js';
import type { Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

type Pending = Answers['pending-embeddings']['rows'][number];

/** Turns memories into vectors: the node's embedder behind the chunking. */
export interface MemoryEmbedder {
  readonly model: string;
  readonly dim: number;
  /** The chunk vectors of each memory, or null for text that gets no vector. UNAVAILABLE while the model fails. */
  embedMemories(
    memories: readonly { readonly title: string; readonly content: string }[],
  ): Promise<Result<(readonly Float32Array[] | null)[]>>;
}

/** How long the backfill waits when there is nothing to do; a change in the database wakes it earlier. */
const IDLE_MS = 5000;
const RETRY_MS = 1000;

/**
 * One round of the embedding backfill: takes the oldest rows without a vector, embeds them and stores their vectors. A
 * batch that fails is tried row by row; a row that fails by itself is marked and skipped (interface §2.12, "Embedder
 * behaviour").
 */
export async function backfillRound(
  store: Store,
  embedder: MemoryEmbedder,
  batchRows: number,
): Promise<NextRound> {
  const pending = await store.query(
    { kind: 'pending-embeddings', afterRid: 0, limit: batchRows },
    { lane: 'background' },
  );
  if (!pending.ok) return { afterMs: RETRY_MS };
  const { rows } = pending.value;
  if (rows.length === 0) return { afterMs: IDLE_MS };
  const embedded = await embedRows(rows, embedder);
  if (embedded === null) return { afterMs: IDLE_MS };
  const stored = await store.execute({ kind: 'put-embeddings', rows: embedded }, { lane: 'background' });
  return { afterMs: stored.ok ? 0 : RETRY_MS };
}

/** Null when the embedder as a whole is unavailable. */
async function embedRows(rows: readonly Pending[], embedder: MemoryEmbedder): Promise<EmbeddedRow[] | null> {
  const together = await embedder.embedMemories(rows);
  if (together.ok) return rows.map((row, index) => verdict(row, together.value[index] ?? null, embedder));
  if (together.error.code !== 'INVALID_ARGUMENT') return null;
  const single: EmbeddedRow[] = [];
  for (const row of rows) {
    const alone = await embedder.embedMemories([row]);
    if (!alone.ok && alone.error.code !== 'INVALID_ARGUMENT') return null;
    single.push(alone.ok ? verdict(row, alone.value[0] ?? null, embedder) : failedRow(row, embedder));
  }
  return single;
}

function verdict(
  row: Pending,
  chunks: readonly Float32Array[] | null,
  embedder: MemoryEmbedder,
): EmbeddedRow {
  const vectors = chunks === null || chunks.length === 0 ? null : concatenated(chunks, embedder.dim);
  return {
    rid: row.rid,
    id: row.id,
    version: row.version,
    state: vectors === null ? EMBED_STATES.skipped : EMBED_STATES.embedded,
    model: embedder.model,
    dim: embedder.dim,
    vectors,
  };
}

function failedRow(row: Pending, embedder: MemoryEmbedder): EmbeddedRow {
  return { ...verdict(row, null, embedder), state: EMBED_STATES.failed };
}

/** float32 little-endian, one chunk after the other. */
function concatenated(chunks: readonly Float32Array[], dim: number): Uint8Array {
  const bytes = new Uint8Array(chunks.length * dim * 4);
  const view = new DataView(bytes.buffer);
  chunks.forEach((chunk, index) => {
    for (let at = 0; at < dim; at += 1) view.setFloat32((index * dim + at) * 4, chunk[at]!, true);
  });
  return bytes;
}
