import type { PendingEmbeddings } from '../../../protocol/maintenance/queries.js';
import type { Answers } from '../../../protocol/queries.js';
import { WAITING_TEXTS } from '../text-index.js';
import type { QueryParts } from './query-parts.js';

type PendingRow = Answers['pending-embeddings']['rows'][number];

/** Rows that wait for a vector, in row order. */
export function pendingEmbeddings(
  { statements }: QueryParts,
  query: PendingEmbeddings,
): Answers['pending-embeddings'] {
  const rows = statements
    .get(
      `SELECT rid, id, version, title, content FROM memories
       WHERE embed_state = 0 AND rid > @after ORDER BY rid LIMIT @limit`,
    )
    .all({ after: query.afterRid, limit: query.limit }) as PendingRow[];
  return { rows };
}

/** The progress of the background embedding. */
export function embeddingProgress({ statements }: QueryParts): Answers['embedding-progress'] {
  const count = (sql: string) => (statements.get(sql).get() as { n: number }).n;
  const embedded = count('SELECT count(*) AS n FROM memory_embeddings');
  const pending = count('SELECT count(*) AS n FROM memories WHERE embed_state = 0');
  return { pending, embedded, skipped: count('SELECT count(*) AS n FROM memories') - pending - embedded };
}

/** The progress of indexing the texts again. */
export function textIndexProgress({ statements }: QueryParts): Answers['text-index-progress'] {
  return { waiting: (statements.get(WAITING_TEXTS).get() as { n: number }).n };
}
