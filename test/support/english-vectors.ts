import { openInlineNode } from '../../node/runtime/inline-node.js';
import type { Result } from '../../protocol/base/result.js';
import { EMBED_STATES, type EmbeddedRow } from '../../protocol/memory/embed-state.js';
import { settingsFor } from '../node/runtime/support.js';
import { generator, randomVectors } from '../storage/vectors/random-vectors.js';
import { storing } from './memories.js';

/** The encoder that was built in before the one for sixteen languages. */
export const ENGLISH = { model: 'builtin/use-lite-en', dim: 512 };
const PART = 200;

/** Stores memories and leaves the database as a release with the English encoder did: vectors for Latin letters only. */
export async function storeWithEnglishVectors(
  home: string,
  memories: readonly { readonly title: string; readonly content: string }[],
): Promise<void> {
  const node = await openInlineNode(settingsFor(home), 'cli');
  const { store } = node.services;
  for (const { title, content } of memories) await done(store.execute(storing({ title, content })));
  await done(store.execute({ kind: 'plan-encoder', configured: ENGLISH, replace: false }));
  const random = generator(7);
  for (let afterRid = 0; ; ) {
    const { rows } = await done(store.query({ kind: 'pending-embeddings', afterRid, limit: PART }));
    if (rows.length === 0) break;
    const embedded = rows.map(({ rid, id, version, title }): EmbeddedRow => {
      const reads = /\p{Script=Latin}/u.test(title);
      const vectors = reads ? new Uint8Array(randomVectors(1, ENGLISH.dim, random).buffer) : null;
      const state = reads ? EMBED_STATES.embedded : EMBED_STATES.skipped;
      return { rid, id, version, state, ...ENGLISH, vectors };
    });
    await done(store.execute({ kind: 'put-embeddings', rows: embedded }));
    afterRid = rows.at(-1)!.rid;
  }
  await node.close();
}

async function done<T>(answer: Promise<Result<T>>): Promise<T> {
  const result = await answer;
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}
