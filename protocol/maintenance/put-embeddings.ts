import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { EmbeddedRow } from '../memory/embed-state.js';
import { memoryById } from '../memory/reads.js';
import { putEmbedding } from './mutations.js';
import { encodersInUse } from './reads.js';

export interface PutEmbeddings {
  readonly kind: 'put-embeddings';
  readonly rows: readonly EmbeddedRow[];
  /** True for vectors of the encoder that takes the place of the searched one. */
  readonly coming?: boolean;
}

/** What `put-embeddings` answers. */
export interface PutEmbeddingsOutcome {
  readonly stored: number;
}

/** Stores the vectors of rows; a row that changed meanwhile keeps waiting. Local. */
function* decideEmbeddings(command: PutEmbeddings): Deciding<PutEmbeddingsOutcome> {
  const mutations: Mutation[] = [];
  const { searched, coming } = yield* encodersInUse();
  const expected = command.coming === true ? coming : searched;
  for (const embedded of command.rows) {
    // Another encoder got the role meanwhile.
    if (expected !== null && expected.model !== embedded.model) continue;
    if (expected === null && command.coming === true) continue;
    const row = yield* memoryById(embedded.id);
    if (row === null || row.rid !== embedded.rid || row.version !== embedded.version) continue;
    mutations.push(
      putEmbedding({
        rid: row.rid,
        state: embedded.state,
        model: embedded.model,
        dim: embedded.dim,
        vectors: embedded.vectors,
        coming: command.coming === true,
      }),
    );
  }
  return decided({ stored: mutations.length }, mutations);
}

export const putEmbeddingsCommand = defineCommand({
  kind: 'put-embeddings',
  decide: decideEmbeddings,
  gate: 'upkeep',
  bytes: ({ rows }) => rows.reduce((sum, { vectors }) => sum + (vectors?.byteLength ?? 0), 0),
});
