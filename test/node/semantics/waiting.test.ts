import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openInlineNode } from '../../../node/runtime/inline-node.js';
import type { Embedder } from '../../../node/semantics/embedder.js';
import { BuiltinEmbedder } from '../../../node/semantics/encoder/builtin-embedder.js';
import { LocalSemantics } from '../../../node/semantics/local-semantics.js';
import type { SemanticRequest } from '../../../node/semantics/semantic-index.js';
import { MEANING_WAIT_MS } from '../../../protocol/base/limits.js';
import { VectorClient } from '../../../storage/vectors/vector-client.js';
import { realClock, realScheduler, recordingLog } from '../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { IdleEmbedder } from '../../support/idle-embedder.js';
import { OPERATOR } from '../../support/memories.js';
import { settingsFor } from '../runtime/support.js';

const seams = { clock: realClock, scheduler: realScheduler, log: recordingLog() };
const requestOf = (query: string): SemanticRequest => ({
  ...{ query, contextTokens: [], namespace: null, viewer: OPERATOR },
});

/** A thread that takes long to load, and then for each text. */
const SLOW = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    setTimeout(() => parentPort.postMessage({ kind: 'loaded' }), 800);
    parentPort.on('message', ({ id, texts }) => {
      const vectors = new Float32Array(texts.length * 512).fill(1 / Math.sqrt(512));
      setTimeout(() => parentPort.postMessage({ kind: 'embedded', id, vectors }), 600);
    });`)}`,
);
const SILENT = new URL('data:text/javascript,setInterval(() => {}, 1e6)');

async function withSemantics(embedder: Embedder, act: (semantic: LocalSemantics) => Promise<void>) {
  const home = temporaryFolder('waiting');
  const node = await openInlineNode(settingsFor(home), 'cli');
  const vectors = new VectorClient({
    ...seams,
    place: { engine: 'sqlite', path: join(home, 'mnemesh.db'), synchronous: 'FULL' },
    ...{ model: embedder.model, dim: embedder.dim },
  });
  const semantic = new LocalSemantics(embedder, vectors, node.services.store, realClock);
  try {
    await act(semantic);
  } finally {
    await semantic.close();
    await node.close();
  }
}

describe('a question by meaning', () => {
  it('waits for a model that loads slowly, and for the questions before it', async () => {
    await withSemantics(new BuiltinEmbedder({ ...seams, entry: SLOW }), async (semantic) => {
      const asked = ['one', 'two', 'three', 'four', 'five'].map((query) =>
        semantic.evidence(requestOf(query)),
      );
      // No memory has a vector; that was found out with the vectors of the questions.
      assert.deepEqual(await Promise.all(asked), Array(5).fill('empty'));
    });
  });

  it('leaves half of its time to the words when the model says nothing', async () => {
    await withSemantics(new BuiltinEmbedder({ ...seams, entry: SILENT }), async (semantic) => {
      const deadlineMs = realClock.monotonicMs() + 1000;
      assert.equal(await semantic.evidence({ ...requestOf('one'), deadlineMs }), 'busy');
    });
  });

  it('waits for each embedder as long as it says, and never longer than half of the time that is left', async () => {
    const waited: number[] = [];
    const embedder = new (class extends IdleEmbedder {
      override embedQuery(text: string, deadlineMs: number) {
        waited.push(deadlineMs - 5000);
        return super.embedQuery(text, deadlineMs);
      }
    })();
    const vectors = new VectorClient({
      ...seams,
      place: { engine: 'sqlite', path: 'never opened', synchronous: 'FULL' },
      ...{ model: embedder.model, dim: embedder.dim },
    });
    const clock = { nowMs: () => 0, monotonicMs: () => 5000 };
    const store = null as never;
    const semantic = new LocalSemantics(embedder, vectors, store, clock);
    for (const deadlineMs of [undefined, 5000 + 60_000, 5000 + 1000, 4000])
      assert.equal(
        await semantic.evidence({ ...requestOf('one'), ...(deadlineMs === undefined ? {} : { deadlineMs }) }),
        'busy',
      );
    assert.deepEqual(waited, [embedder.queryWaitMs, embedder.queryWaitMs, 500, -500]);
    await semantic.close();
    assert.equal(new BuiltinEmbedder(seams).queryWaitMs, MEANING_WAIT_MS);
  });
});
