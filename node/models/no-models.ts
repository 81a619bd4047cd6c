import { failed, failure } from '../../protocol/base/result.js';
import type { Models } from './models.js';

const NONE = failure('LLM_UNAVAILABLE', 'no chat model is configured: set llm.backend');

/** A node without a chat model. */
export const NO_MODELS: Models = {
  missing: () => NONE,
  ask: () => Promise.resolve(failed(NONE)),
  state: () => ({ models: {}, asking: 0, waiting: 0 }),
  close: () => Promise.resolve(),
};
