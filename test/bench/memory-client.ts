import { join } from 'node:path';
import { backfillRound } from '../../actors/maintenance/backfill.js';
import { loadSettings, type SettingFlags } from '../../node/config/load-settings.js';
import type { Settings } from '../../node/config/settings.js';
import { localCaller, localIdentity } from '../../node/identity/local-caller.js';
import { memoryRecall } from '../../node/operations/core/memory-recall.js';
import { memoryStore } from '../../node/operations/core/memory-store.js';
import type { Services } from '../../node/pipeline/call.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { openInlineNode } from '../../node/runtime/inline-node.js';
import { systemClock, systemRandom, systemScheduler } from '../../node/seams.js';
import { LocalSemantics } from '../../node/semantics/local-semantics.js';
import { NO_SEMANTICS } from '../../node/semantics/no-semantics.js';
import { openEmbedder } from '../../node/semantics/open-embedder.js';
import { EMBED_BATCH_MAX } from '../../protocol/base/limits.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import { VectorClient } from '../../storage/vectors/vector-client.js';

const LIMIT = 10;
/** How often a query is asked again whose embedding came too late for its recall. */
const BUSY_TRIES = 100;

/** What a recall answered. */
export interface Recalled {
  /** Best first. */
  readonly titles: readonly string[];
  /** One for each title. */
  readonly scores: readonly number[];
  /** Rows that are not marked as weak. */
  readonly sure: number;
  readonly mode: 'hybrid' | 'hybrid+rerank' | 'keyword';
}

/** The embedder and the reranker that the environment configures. */
function configured(environment: NodeJS.ProcessEnv): { embedder: SettingFlags; reranker: SettingFlags } {
  const own = Object.entries(environment).filter(([name]) => /^SVC_(?:EMBED|RERANK)_/.test(name));
  const settings = loadSettings({}, { env: { ...Object.fromEntries(own), SVC_NO_CONFIG: '1' } });
  const { home, embedBackend, embedBaseUrl, embedModel, embedDim, embedModelFolder, embedApiKey } = settings;
  const { rerankerEnabled, rerankerBaseUrl, rerankerModel, rerankerApiKey, rerankerTimeoutMs } = settings;
  return {
    embedder: { home, embedBackend, embedBaseUrl, embedModel, embedDim, embedModelFolder, embedApiKey },
    reranker: { rerankerEnabled, rerankerBaseUrl, rerankerModel, rerankerApiKey, rerankerTimeoutMs },
  };
}

/**
 * A client of an inline node through the operations themselves. The embedder and the vector index are the node's own,
 * driven directly so that embedding runs at full speed.
 */
export class MemoryClient {
  private constructor(
    private readonly services: Services,
    private readonly semantics: LocalSemantics | null,
    private readonly closeNode: () => Promise<void>,
  ) {}

  /** `embedded`: the settings of the embedder; by default what the variables SVC_EMBED_* say. */
  static async open(
    home: string,
    keyword: boolean,
    embedded: SettingFlags = configured(process.env).embedder,
  ): Promise<MemoryClient> {
    const settings = loadSettings(
      // What survives a power loss is not measured here.
      {
        ...{ home, embedBackend: 'none', synchronous: 'OFF', logLevel: 'error' },
        ...configured(process.env).reranker,
      },
      { env: { SVC_NO_CONFIG: '1' } },
    );
    const node = await openInlineNode(settings, 'cli');
    const { services } = node;
    if (keyword) return new MemoryClient(services, null, () => node.close());
    const opened = await openEmbedder({ ...settings, ...embedded } as Settings, {
      clock: systemClock,
      scheduler: systemScheduler,
      log: services.log,
    });
    if (!opened.ok) throw new Error(opened.error.message);
    const embedder = opened.value;
    const vectors = new VectorClient({
      place: { engine: 'sqlite', path: join(home, 'mnemesh.db'), synchronous: 'FULL' },
      model: embedder.model,
      dim: embedder.dim,
      clock: systemClock,
      scheduler: systemScheduler,
    });
    const semantics = new LocalSemantics(embedder, vectors, services.store, systemClock);
    return new MemoryClient(services, semantics, () => node.close());
  }

  async store(
    namespace: string,
    title: string,
    content: string,
    also: { readonly tags?: readonly string[]; readonly conversation?: string; readonly turn?: number } = {},
  ): Promise<void> {
    await this.call(
      memoryStore,
      { namespace, title, content, on_conflict: 'version', ...also },
      this.services,
    );
  }

  /** Embeds everything that has no vector yet. */
  async embedAll(progressed: (done: number, total: number) => void): Promise<void> {
    const { store } = this.services;
    if (this.semantics === null) return;
    for (let round = 0; ; round += 1) {
      const next = await backfillRound(store, this.semantics, { batchRows: EMBED_BATCH_MAX });
      if (next.afterMs === 0 && round % 16 !== 0) continue;
      const progress = await store.query({ kind: 'embedding-progress' });
      if (!progress.ok) throw new Error(progress.error.message);
      const { pending, embedded, skipped } = progress.value;
      progressed(embedded + skipped, embedded + skipped + pending);
      if (pending === 0) return;
      if (next.afterMs > 0) throw new Error(`the embedder stopped before ${pending} memories`);
    }
  }

  /** Recalls; with `keyword`, as a node without an embedder would. `minScore` is that of the operation unless given. */
  async recall(namespace: string, query: string, keyword: boolean, minScore?: number): Promise<Recalled> {
    const least = minScore === undefined ? {} : { min_score: minScore };
    const answer = await this.answer(namespace, query, keyword, least);
    const { memories, mode } = answer as {
      memories: readonly { title: string; score: number; weak?: true }[];
      mode: Recalled['mode'];
    };
    return {
      titles: memories.map(({ title }) => title),
      scores: memories.map(({ score }) => score),
      sure: memories.filter(({ weak }) => weak !== true).length,
      mode,
    };
  }

  /** What a recall with further fields answers. */
  async answer(
    namespace: string,
    query: string,
    keyword: boolean,
    fields: Readonly<Record<string, unknown>> = {},
  ): Promise<Record<string, unknown>> {
    const semantic = keyword || this.semantics === null ? NO_SEMANTICS : this.semantics;
    for (let tries = 1; ; tries += 1) {
      const answer = await this.call(
        memoryRecall,
        { context: query, namespace, limit: LIMIT, ...fields },
        { ...this.services, semantic },
      );
      const { meta } = answer as { readonly meta: { readonly semantic?: string } };
      // The vector that came too late is in the cache by the next try, so a loaded machine finds the same rows.
      if (meta.semantic === 'busy' && tries < BUSY_TRIES) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      return answer;
    }
  }

  /** What the vector index alone finds; null without one. */
  async nearest(namespace: string, query: string): Promise<VectorEvidence | null> {
    const viewer = { all: true, agentId: null, asNamespace: null };
    for (let tries = 1; this.semantics !== null && tries <= BUSY_TRIES; tries += 1) {
      const evidence = await this.semantics.evidence({ query, contextTokens: [], namespace, viewer });
      if (typeof evidence !== 'string') return evidence;
      if (evidence !== 'busy') return null;
    }
    return null;
  }

  async close(): Promise<void> {
    await this.semantics?.close();
    await this.closeNode();
  }

  private async call(
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    services: Services,
  ): Promise<Record<string, unknown>> {
    const identity = localIdentity(services.settings, { hostname: 'bench', pid: 1 }, systemRandom);
    const caller = localCaller(identity, 'ai:bench', null);
    if (!caller.ok) throw new Error(caller.error.message);
    const answer = await runOperation(
      operation,
      { surface: 'mcp', caller: caller.value, input, unknownFields: 'refuse' },
      services,
    );
    if (!answer.ok) throw new Error(`${operation.name}: ${answer.error.code}: ${answer.error.message}`);
    return answer.value;
  }
}
