import type { NearestMemory } from '../../../protocol/memory/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { bestCosine } from '../recall/cosines.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

interface VectorRow {
  readonly id: string;
  readonly vectors: Buffer;
}

/**
 * The nearest memory, by the exact cosine of its best window, among the visible rows of one namespace (interface §4.4,
 * POST /check_duplicate). Rows that the viewer may not see are neither compared nor counted.
 */
export function nearestMemory({ statements }: QueryParts, query: NearestMemory): Answers['nearest-memory'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const inNamespace = 'm.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)';
  const parameters = { ...gate.parameters, namespace: query.namespace };
  let best: { id: string; similarity: number } | null = null;
  let scanned = 0;
  const rows = statements
    .get(
      `SELECT m.id, e.vectors FROM memories m JOIN memory_embeddings e ON e.rid = m.rid
       WHERE ${inNamespace} AND e.dim = @dim AND ${gate.sql}`,
    )
    .iterate({ ...parameters, dim: query.queryVector.length }) as IterableIterator<VectorRow>;
  for (const { id, vectors } of rows) {
    scanned += 1;
    const similarity = bestCosine(query.queryVector, vectors);
    if (Number.isFinite(similarity) && (best === null || similarity > best.similarity)) {
      best = { id, similarity };
    }
  }
  // A row with the same words may have no vector yet, or use a script that gets no vector.
  const same = statements
    .get(
      `SELECT m.id, e.rid IS NULL AS unembedded FROM memories m
       LEFT JOIN memory_embeddings e ON e.rid = m.rid AND e.dim = @dim
       WHERE m.title = @title AND m.namespace = @namespace AND m.content = @content AND ${gate.sql} LIMIT 1`,
    )
    .get({
      ...parameters,
      dim: query.queryVector.length,
      title: query.title,
      content: query.content,
    }) as { id: string; unembedded: number } | undefined;
  if (same !== undefined) {
    best = { id: same.id, similarity: 1 };
    scanned += same.unembedded;
  }
  if (best === null) return { nearest: null, scanned };
  const found = statements.get('SELECT id, title, namespace FROM memories WHERE id = ?').get(best.id) as {
    id: string;
    title: string;
    namespace: string;
  };
  return { nearest: { ...found, similarity: best.similarity }, scanned };
}
