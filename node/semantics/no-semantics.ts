import type { SemanticIndex } from './semantic-index.js';

/** Keyword mode: `SVC_EMBED_BACKEND=none`. */
export const NO_SEMANTICS: SemanticIndex = {
  evidence: () => Promise.resolve('disabled'),
  state: () => ({
    enabled: false,
    loaded: false,
    failing: false,
    lastError: null,
    model: 'none',
    dim: 0,
  }),
  close: () => Promise.resolve(),
};
