import type { LoadedModel } from '../model-here.js';
import { ENCODER_DIM } from './encoder-dim.js';
import { SentenceEncoder } from './sentence-encoder.js';
import { withoutNumbers } from './without-numbers.js';

/** The built-in encoder as an embedder uses it. */
export class BuiltinEncoder implements LoadedModel {
  readonly #encoder = new SentenceEncoder();

  encode(texts: readonly string[]): Float32Array {
    const vectors = new Float32Array(texts.length * ENCODER_DIM);
    for (const [place, text] of texts.entries()) {
      const target = vectors.subarray(place * ENCODER_DIM, (place + 1) * ENCODER_DIM);
      this.#encoder.write(withoutNumbers(text), target);
    }
    return vectors;
  }

  close(): void {
    this.#encoder.close();
  }
}
