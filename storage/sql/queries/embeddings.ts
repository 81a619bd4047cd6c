import type { PendingEmbeddings } from '../../../protocol/maintenance/queries.js';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { Answers } from '../../../protocol/release.js';
import { readEncoders, WAITING } from '../encoders.js';
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
      query.coming === true
        ? `${WAITING} AND m.rid > @after ORDER BY m.rid LIMIT @limit`
        : `SELECT rid, id, version, title, content FROM memories
           WHERE embed_state = 0 AND rid > @after ORDER BY rid LIMIT @limit`,
    )
    .all({ after: query.afterRid, limit: query.limit }) as PendingRow[];
  return { rows };
}

const PENDING = 'SELECT count(*) AS n FROM memories WHERE embed_state = 0';

/** How many memories wait for the searched encoder. */
export function countPendingEmbeddings({ statements }: QueryParts): Answers['count-pending-embeddings'] {
  return { pending: (statements.get(PENDING).get() as { n: number }).n };
}

/** The progress of the background embedding. */
export function embeddingProgress({
  statements,
}: Pick<QueryParts, 'statements'>): Answers['embedding-progress'] {
  const count = (sql: string) => (statements.get(sql).get() as { n: number }).n;
  const states = statements
    .get(
      'SELECT embed_state AS state, count(*) AS n FROM memories WHERE embed_state > 1 GROUP BY embed_state',
    )
    .all() as { state: number; n: number }[];
  const inState = (wanted: number) => states.find(({ state }) => state === wanted)?.n ?? 0;
  const { searched, coming } = readEncoders(statements);
  const memories = count('SELECT count(*) AS n FROM memories');
  return {
    memories,
    pending: count(PENDING),
    embedded: count('SELECT count(*) AS n FROM memory_embeddings'),
    skipped: inState(EMBED_STATES.skipped),
    failed: inState(EMBED_STATES.failed),
    cut: inState(EMBED_STATES.cut),
    searched,
    coming:
      coming === null
        ? null
        : {
            ...coming,
            done: count('SELECT count(*) AS n FROM coming_states'),
            of: memories,
          },
  };
}

/** The progress of indexing the texts again. */
export function textIndexProgress({ statements }: QueryParts): Answers['text-index-progress'] {
  return { waiting: (statements.get(WAITING_TEXTS).get() as { n: number }).n };
}
