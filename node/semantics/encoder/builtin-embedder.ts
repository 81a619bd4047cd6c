import type { UnrelatedTexts } from '../../../protocol/memory/recall-request.js';
import { ThreadEmbedder, type ThreadEmbedderOptions } from '../thread-embedder.js';
import { ENCODER_DIM } from './sentence-encoder.js';

type Given = Pick<ThreadEmbedderOptions, 'clock' | 'scheduler' | 'log' | 'idleMs'>;

/** The name that its vectors have. Another built-in encoder must have another name. */
export const BUILTIN_MODEL = 'builtin/use-multilingual-3';

/** Tokens of one window. The encoder adds the tokens of a text up, so a long one says too many things at once. */
const WINDOW_TOKENS = 160;

/** The embedder that needs nothing but the package: 16 languages, 512 dimensions (docs/embedders.md). */
export class BuiltinEmbedder extends ThreadEmbedder {
  /** Measured with the notes and the paraphrases of `fixtures/`. */
  readonly unrelated: UnrelatedTexts = { mean: 0.08, deviation: 0.07, rows: 100 };

  /** `entry`: another thread, for tests of its failures. */
  constructor({ entry, ...given }: Given & { readonly entry?: URL }) {
    super({
      ...given,
      model: BUILTIN_MODEL,
      dim: ENCODER_DIM,
      input: { windowTokens: WINDOW_TOKENS },
      entry: entry ?? new URL('./encoder-thread.js', import.meta.url),
    });
  }
}
