import { EMBED_STORE_ROWS_MAX } from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import { EMBED_STATES, type EmbeddedRow, type EmbedState } from '../../protocol/memory/embed-state.js';
import type { Answers } from '../../protocol/release.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';

type Pending = Answers['pending-embeddings']['rows'][number];

/** The vectors of a memory; `cut` when its end is in none of them. */
export interface EmbeddedText {
  readonly vectors: readonly Float32Array[];
  readonly cut: boolean;
}

/** Turns memories into vectors: the node's embedder behind the chunking. */
export interface MemoryEmbedder {
  readonly model: string;
  readonly dim: number;
  /** The chunk vectors of each memory, or null for text that gets no vector. UNAVAILABLE while the model fails. */
  embedMemories(
    memories: readonly { readonly title: string; readonly content: string }[],
  ): Promise<Result<(EmbeddedText | null)[]>>;
}

export interface BackfillOptions {
  /** Rows that are read and embedded at a time. */
  readonly batchRows: number;
  /** True embeds for the encoder that takes the place of the searched one. */
  readonly coming?: boolean;
  /** Is told about a row that the embedder refuses. */
  readonly warn?: (row: { readonly id: string; readonly reason: string }) => void;
}

/** How long the backfill waits when there is nothing to do; a change in the database wakes it earlier. */
export const BACKFILL_IDLE_MS = 5000;
const RETRY_MS = 1000;
/** Batches of one round, so that a stop need not wait for a whole backlog. */
const BATCHES_MAX = 4;

/**
 * One round of the embedding backfill: takes the oldest rows without a vector, embeds them and stores their vectors,
 * one batch while the next is embedded. A batch that fails is tried row by row; a row that fails by itself is marked
 * and skipped (interface §2.12, "Embedder behaviour"). `afterMs` 0: there may be more.
 */
export async function backfillRound(
  store: Store,
  embedder: MemoryEmbedder,
  { batchRows, coming = false, warn = () => undefined }: BackfillOptions,
): Promise<NextRound> {
  let storing: Promise<boolean> = Promise.resolve(true);
  let afterRid = 0;
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const pending = await store.query(
      { kind: 'pending-embeddings', afterRid, limit: batchRows, coming },
      { lane: 'background' },
    );
    if (!pending.ok) return { afterMs: RETRY_MS };
    const { rows } = pending.value;
    if (rows.length === 0) {
      const stored = await storing;
      return { afterMs: !stored ? RETRY_MS : batch === 0 ? BACKFILL_IDLE_MS : 0 };
    }
    const embedded = await embedRows(rows, embedder, warn);
    if (!(await storing)) return { afterMs: RETRY_MS };
    if (embedded === null) return { afterMs: BACKFILL_IDLE_MS };
    storing = storeRows(store, embedded, coming);
    afterRid = rows.at(-1)!.rid;
  }
  return { afterMs: (await storing) ? 0 : RETRY_MS };
}

/** Small transactions: a store that comes meanwhile waits for one of them. */
async function storeRows(store: Store, rows: readonly EmbeddedRow[], coming: boolean): Promise<boolean> {
  for (let from = 0; from < rows.length; from += EMBED_STORE_ROWS_MAX) {
    const part = rows.slice(from, from + EMBED_STORE_ROWS_MAX);
    const stored = await store.execute(
      { kind: 'put-embeddings', rows: part, coming },
      { lane: 'background' },
    );
    if (!stored.ok) return false;
  }
  return true;
}

/** Null when the embedder as a whole is unavailable. */
async function embedRows(
  rows: readonly Pending[],
  embedder: MemoryEmbedder,
  warn: NonNullable<BackfillOptions['warn']>,
): Promise<EmbeddedRow[] | null> {
  const together = await embedder.embedMemories(rows);
  if (together.ok) return rows.map((row, index) => verdict(row, together.value[index] ?? null, embedder));
  if (together.error.code !== 'INVALID_ARGUMENT') return null;
  const single: EmbeddedRow[] = [];
  for (const row of rows) {
    const alone = await embedder.embedMemories([row]);
    if (!alone.ok && alone.error.code !== 'INVALID_ARGUMENT') return null;
    if (!alone.ok) warn({ id: row.id, reason: alone.error.message });
    single.push(alone.ok ? verdict(row, alone.value[0] ?? null, embedder) : failedRow(row, embedder));
  }
  return single;
}

function verdict(row: Pending, text: EmbeddedText | null, embedder: MemoryEmbedder): EmbeddedRow {
  const vectors =
    text === null || text.vectors.length === 0 ? null : concatenated(text.vectors, embedder.dim);
  const state: EmbedState =
    vectors === null ? EMBED_STATES.skipped : text?.cut === true ? EMBED_STATES.cut : EMBED_STATES.embedded;
  const { rid, id, version } = row;
  return { rid, id, version, state, model: embedder.model, dim: embedder.dim, vectors };
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
