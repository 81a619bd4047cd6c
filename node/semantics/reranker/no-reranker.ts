import type { Reranker } from './reranker.js';

/** A node without a reranker. */
export const NO_RERANKER: Reranker = {
  relevances: () => Promise.resolve('failing'),
  state: () => ({ enabled: false, failing: false, lastError: null, model: null }),
  close: () => Promise.resolve(),
};
