import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalSemantics } from '../../../node/semantics/local-semantics.js';
import type { SemanticRequest } from '../../../node/semantics/semantic-index.js';
import { NEAR_DUPLICATE_WAIT_MS } from '../../../protocol/limits.js';
import { ok } from '../../../protocol/result.js';
import { VectorClient } from '../../../storage/vectors/vector-client.js';
import { realClock, realScheduler } from '../../storage/vectors/real-seams.js';
import { IdleEmbedder } from '../../support/idle-embedder.js';
import { openTestNode } from '../../support/test-node.js';

describe('evidence before a store', () => {
  const ask = async (embedder: IdleEmbedder, changes: Partial<SemanticRequest> = {}) => {
    const node = await openTestNode({ requireAttestation: false });
    const { store } = node.services;
    const stored = await store.execute({ kind: 'ensure-quota', holder: 'ai:a', namespace: 'x' });
    assert.ok(stored.ok);
    // It is never asked here, so its thread never starts.
    const vectors = new VectorClient({
      path: 'nowhere',
      model: 'idle',
      dim: 3,
      clock: realClock,
      scheduler: realScheduler,
    });
    const semantics = new LocalSemantics(embedder, vectors, store, realClock);
    const startMs = realClock.monotonicMs();
    const viewer = { all: true, agentId: null, asNamespace: null };
    const answer = await semantics.evidence({
      query: 'a text',
      contextTokens: [],
      namespace: 'global',
      viewer,
      beforeStore: true,
      ...changes,
    });
    await semantics.close();
    await node.close();
    return { answer, startMs };
  };

  it('does not wait for a model that is not loaded, nor behind another query', async () => {
    for (const embedder of [new IdleEmbedder(false, 0), new IdleEmbedder(true, 1)]) {
      assert.equal((await ask(embedder)).answer, 'busy');
      assert.deepEqual(embedder.deadlines, []);
    }
  });

  it('embeds nothing for a namespace without rows, a text of several windows, or one in another script', async () => {
    for (const query of ['a text', 'word '.repeat(91), '港は毎日開いています']) {
      const embedder = new IdleEmbedder(true, 0);
      assert.equal((await ask(embedder, { query, namespace: 'empty' })).answer, 'empty');
      assert.deepEqual(embedder.deadlines, []);
    }
  });
});

describe('the wait of evidence before a store', () => {
  it('is bounded', async () => {
    const embedder = new IdleEmbedder(true, 0);
    const vectors = new VectorClient({
      path: 'nowhere',
      model: 'idle',
      dim: 3,
      clock: realClock,
      scheduler: realScheduler,
    });
    const node = await openTestNode({ requireAttestation: false });
    const { store } = node.services;
    const named = {
      execute: store.execute.bind(store),
      close: store.close.bind(store),
      query: (query: Parameters<typeof store.query>[0]) =>
        query.kind === 'namespace-ids' ? Promise.resolve(ok({ ids: [1] })) : store.query(query),
    } as typeof store;
    const semantics = new LocalSemantics(embedder, vectors, named, { ...realClock, monotonicMs: () => 1000 });
    const viewer = { all: true, agentId: null, asNamespace: null };
    const request = { query: 'a text', contextTokens: [], namespace: 'x', viewer, beforeStore: true };
    assert.equal(await semantics.evidence(request), 'busy');
    assert.deepEqual(embedder.deadlines, [1000 + NEAR_DUPLICATE_WAIT_MS]);
    await semantics.close();
    await node.close();
  });
});
