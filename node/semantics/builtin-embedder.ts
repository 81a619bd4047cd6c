import { ThreadEmbedder, type ThreadEmbedderOptions } from './thread-embedder.js';

/** Numbers of a vector of the built-in model. */
export const BUILTIN_DIM = 512;

type Given = Pick<ThreadEmbedderOptions, 'clock' | 'scheduler' | 'log' | 'idleMs'>;

/**
 * The embedder that needs nothing but its npm packages: USE-lite, English, 512 dimensions, about 115 words, 240 MB of
 * memory while it is loaded.
 */
export class BuiltinEmbedder extends ThreadEmbedder {
  /** `entry`: another thread, for tests of its failures. */
  constructor({ entry, ...given }: Given & { readonly entry?: URL }) {
    super({
      ...given,
      model: 'builtin/use-lite-en',
      dim: BUILTIN_DIM,
      input: { windowWords: 90, latinOnly: true },
      helps: true,
      entry: entry ?? new URL('./builtin-thread.js', import.meta.url),
    });
  }
}
