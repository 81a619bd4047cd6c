import type { UnrelatedTexts } from '../../../protocol/memory/recall-request.js';
import { ModelEmbedder, type ModelEmbedderOptions } from '../model-embedder.js';
import { ModelHere } from '../model-here.js';
import { ModelThread } from '../model-thread.js';
import { ENCODER_DIM as dim } from './encoder-dim.js';

interface Given extends Pick<ModelEmbedderOptions, 'clock' | 'scheduler' | 'log' | 'idleMs'> {
  /** True computes in this thread. */
  readonly here?: boolean;
  /** Another thread, for tests of its failures. */
  readonly entry?: URL;
}

/** The name that its vectors have. Another built-in encoder must have another name. */
export const BUILTIN_MODEL = 'builtin/use-multilingual-3';

const ENTRY = new URL('./encoder-thread.js', import.meta.url);

/** In this thread. Most processes do not need the module. */
const load = async () => new (await import('./builtin-encoder.js')).BuiltinEncoder();

/** Tokens of one window. The encoder adds the tokens of a text up, so a long one says too many things at once. */
const WINDOW_TOKENS = 160;

/** The embedder that needs nothing but the package: 16 languages, 512 dimensions (docs/embedders.md). */
export class BuiltinEmbedder extends ModelEmbedder {
  /** Measured with the notes and the paraphrases of `fixtures/`. */
  readonly unrelated: UnrelatedTexts = { mean: 0.08, deviation: 0.07, rows: 100 };

  constructor({ here = false, entry = ENTRY, ...given }: Given) {
    super({
      ...given,
      model: BUILTIN_MODEL,
      dim,
      input: { windowTokens: WINDOW_TOKENS },
      open: (events) =>
        here
          ? new ModelHere({ dim, load, scheduler: given.scheduler, ...events })
          : new ModelThread({ dim, entry, ...events }),
    });
  }
}
