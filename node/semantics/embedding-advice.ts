import type { EncoderRef } from '../../protocol/maintenance/encoder-ref.js';
import type { EmbeddingFacts } from '../../protocol/maintenance/queries.js';
import { BUILTIN_MODEL } from './encoder/builtin-embedder.js';

type Counts = Omit<EmbeddingFacts, 'embedded'>;

/** What would help memories that are not found by their meaning, or only by a part of it. */
export function embeddingAdvice(facts: Counts): string[] {
  const { memories, pending, skipped, failed, cut, searched, coming } = facts;
  const advice: string[] = [];
  if (coming !== null) {
    advice.push(
      `${coming.done} of ${coming.of} memories are embedded for ${coming.model}; ${searched?.model} is searched until all are`,
    );
  }
  if (coming === null && searched !== null && pending > 0) {
    advice.push(
      `${memories - pending} of ${memories} memories are embedded for ${searched.model}; the others are found by their words until they are`,
    );
  }
  if (coming === null && isGone(searched)) {
    advice.push(
      `the vectors are of ${searched.model}, which is no longer built in, so memories are found by their words only: "mnemesh serve" or "mnemesh reembed" makes new vectors`,
    );
  } else if (skipped > 0) {
    advice.push(`${skipped} memories have no vector, because they have no letters`);
  }
  if (failed > 0) {
    advice.push(
      `${failed} memories were refused by the encoder: look at the log, then run "mnemesh reembed"`,
    );
  }
  if (cut > 0) {
    advice.push(
      `${cut} memories are so long that only their beginning is embedded: shorter ones are found better`,
    );
  }
  return advice;
}

/** True for an encoder that an earlier release had built in. */
const isGone = (searched: EncoderRef | null): searched is EncoderRef =>
  searched?.model.startsWith('builtin/') === true && searched.model !== BUILTIN_MODEL;
