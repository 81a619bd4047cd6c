import type { EmbeddedText, MemoryEmbedder } from '../../actors/maintenance/backfill.js';
import { subtreeRoot, withAncestors } from '../../protocol/base/ids.js';
import {
  MEANING_WAIT_MS,
  REQUEST_DEADLINE_MS,
  VECTOR_FILTERED_HITS_MAX,
  VECTOR_HITS_MAX,
} from '../../protocol/base/limits.js';
import { ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { isFiltered } from '../../protocol/memory/recall-filter.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { Store } from '../../storage/port.js';
import type { VectorSearch } from '../../storage/vectors/vector-search.js';
import { chunkMemory } from './chunking.js';
import type { Embedder } from './embedder.js';
import type { SemanticAbsence, SemanticIndex, SemanticRequest, SemanticState } from './semantic-index.js';

/** Weight of the recent conversation against the query (interface §4.14). */
const CONTEXT_WEIGHT = 0.3;
/** Windows that are given to the embedder at once. */
const TEXTS_AT_ONCE_MAX = 512;

/** The semantic side of the process that owns the database: its embedder and its vector index. */
export class LocalSemantics implements SemanticIndex, MemoryEmbedder {
  constructor(
    private readonly embedder: Embedder,
    private readonly vectors: VectorSearch,
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  get model(): string {
    return this.embedder.model;
  }

  get dim(): number {
    return this.embedder.dim;
  }

  async evidence(request: SemanticRequest): Promise<VectorEvidence | SemanticAbsence> {
    const embeddedMs = this.untilMs(this.embedder.queryWaitMs, request);
    const query = await this.embedder.embedQuery(request.query, embeddedMs);
    if (!query.ok) return absenceOf(query.error.code);
    const vector = await this.blended(query.value, request.contextTokens, embeddedMs);
    const nsIds = request.namespace === null ? null : await this.namespaceIds(request.namespace);
    if (nsIds !== null && nsIds.length === 0) return 'empty';
    const { viewer, filter } = request;
    const found = await this.vectors.search(
      {
        queryVector: vector,
        nsIds,
        ownerIds: viewer.all ? null : viewer.agentId === null ? [] : [viewer.agentId],
        k: filter !== undefined && isFiltered(filter) ? VECTOR_FILTERED_HITS_MAX : VECTOR_HITS_MAX,
        now: instantFromMs(this.clock.nowMs()),
        viewer,
        ...(filter === undefined ? {} : { filter }),
      },
      this.untilMs(MEANING_WAIT_MS, request),
    );
    if (!found.ok) return absenceOf(found.error.code);
    if (found.value.scanned === 0) return 'empty';
    const { unrelated } = this.embedder;
    return unrelated === undefined ? found.value : { ...found.value, unrelated };
  }

  /** Loads the vector index where it has a thread, so that the first recall need not wait for it. */
  async warm(): Promise<void> {
    await this.vectors.warm(this.clock.monotonicMs() + REQUEST_DEADLINE_MS);
  }

  /** Loads the model, so that the first question need not wait for it. */
  async warmEmbedder(): Promise<void> {
    await this.embedder.warm?.();
  }

  async embedMemories(
    memories: readonly { readonly title: string; readonly content: string }[],
  ): Promise<Result<(EmbeddedText | null)[]>> {
    const chunked = memories.map(({ title, content }) => chunkMemory(title, content, this.embedder.input));
    const texts = chunked.flatMap((chunking) => (chunking.ok ? chunking.windows : []));
    if (texts.length === 0) return ok(memories.map(() => null));
    const embedded: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += TEXTS_AT_ONCE_MAX) {
      const part = await this.embedder.embed(texts.slice(from, from + TEXTS_AT_ONCE_MAX));
      if (!part.ok) return part;
      embedded.push(...part.value);
    }
    let next = 0;
    return ok(
      chunked.map((chunking) => {
        if (!chunking.ok) return null;
        const from = next;
        next += chunking.windows.length;
        return { vectors: embedded.slice(from, next), cut: chunking.cut === true };
      }),
    );
  }

  state(): SemanticState {
    const { loaded, failing, lastError } = this.embedder.state();
    return { enabled: true, loaded, failing, lastError, model: this.embedder.model, dim: this.embedder.dim };
  }

  async close(): Promise<void> {
    await Promise.all([this.embedder.close(), this.vectors.close()]);
  }

  /** Until when a part of the evidence is waited for: half of the caller's time stays for the answer by words. */
  private untilMs(waitMs: number, { deadlineMs = Number.POSITIVE_INFINITY }: SemanticRequest): number {
    const nowMs = this.clock.monotonicMs();
    return nowMs + Math.min(waitMs, (deadlineMs - nowMs) / 2);
  }

  private async namespaceIds(namespace: string): Promise<readonly number[]> {
    const below = subtreeRoot(namespace);
    const names = below === null ? withAncestors(namespace) : [below];
    const found = await this.store.query({ kind: 'namespace-ids', names, below });
    return found.ok ? found.value.ids : [];
  }

  private async blended(
    query: Float32Array,
    contextTokens: readonly string[],
    deadlineMs: number,
  ): Promise<Float32Array> {
    const text = contextTokens.join(' ').trim();
    if (text === '') return query;
    const context = await this.embedder.embedQuery(text, deadlineMs);
    if (!context.ok) return query;
    const sum = query.map(
      (value, index) => (1 - CONTEXT_WEIGHT) * value + CONTEXT_WEIGHT * context.value[index]!,
    );
    const length = Math.hypot(...sum);
    return length === 0 ? query : sum.map((value) => value / length);
  }
}

function absenceOf(code: string): SemanticAbsence {
  if (code === 'INVALID_ARGUMENT') return 'empty';
  return code === 'OVERLOADED' || code === 'DEADLINE' ? 'busy' : 'failing';
}
