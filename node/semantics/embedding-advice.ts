import type { EmbeddingFacts } from '../../protocol/maintenance/queries.js';

/** Where the encoders are described. */
const PAGE = 'docs/embedders.md';

type Counts = Pick<EmbeddingFacts, 'skipped' | 'failed' | 'cut' | 'searched' | 'coming'>;

/** What would help memories that are not found by their meaning, or only by a part of it. */
export function embeddingAdvice({ skipped, failed, cut, searched, coming }: Counts): string[] {
  const isBuiltin = searched?.model.startsWith('builtin/') ?? true;
  const advice: string[] = [];
  if (coming !== null) {
    advice.push(
      `${coming.done} of ${coming.of} memories are embedded for ${coming.model}; ${searched?.model} is searched until all are`,
    );
  }
  if (skipped > 0) {
    advice.push(
      isBuiltin
        ? `${skipped} memories have no vector: the built-in encoder reads only English and related languages; a multilingual one reads them (${PAGE})`
        : `${skipped} memories have no vector, because they have no letters`,
    );
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
