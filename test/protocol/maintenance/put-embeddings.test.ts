import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { putEmbedding } from '../../../protocol/maintenance/mutations.js';
import { EMBED_STATES, type EmbeddedRow } from '../../../protocol/memory/embed-state.js';
import { aRow, decideOver, onlyLocal, taken } from '../decide/answerer.js';

const VECTORS = new Uint8Array([1, 2, 3, 4]);
const embedded = (fields: Partial<EmbeddedRow> = {}): EmbeddedRow => ({
  rid: 1,
  id: 'm1',
  version: 2,
  state: EMBED_STATES.embedded,
  model: 'a model',
  dim: 1,
  vectors: VECTORS,
  ...fields,
});
const row = aRow({ id: 'm1', rid: 1, version: 2 });
const putting = (...rows: EmbeddedRow[]) => decideOver({ kind: 'put-embeddings', rows }, [row]);

describe('vectors', () => {
  it('are stored beside the version that they were made from, locally', () => {
    const outcome = putting(embedded());
    assert.deepEqual(taken(outcome).value, { stored: 1 });
    assert.deepEqual(onlyLocal(outcome, putEmbedding), {
      mutation: 'put-embedding',
      rid: 1,
      state: EMBED_STATES.embedded,
      model: 'a model',
      dim: 1,
      vectors: VECTORS,
      coming: false,
    });
  });

  it('of another version, of a row that is gone, or of a row that took its number are dropped', () => {
    for (const stale of [
      embedded({ version: 1 }),
      embedded({ version: 3 }),
      embedded({ id: 'm2' }),
      embedded({ rid: 2 }),
    ]) {
      assert.deepEqual(taken(putting(stale)), { value: { stored: 0 }, mutations: [] });
    }
  });

  it('that are stale cost their neighbours nothing', () => {
    assert.deepEqual(taken(putting(embedded({ id: 'gone' }), embedded(), embedded({ version: 9 }))).value, {
      stored: 1,
    });
  });

  it('may be a verdict without any', () => {
    for (const state of [EMBED_STATES.skipped, EMBED_STATES.failed]) {
      const mutation = onlyLocal(putting(embedded({ state, vectors: null })), putEmbedding);
      assert.deepEqual([mutation.state, mutation.vectors], [state, null]);
    }
  });
});
