import { ok, type Result } from '../../../protocol/base/result.js';
import type { ReflectionOrigin } from '../../../protocol/reflections/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import { getMemory } from './get.js';
import type { QueryParts } from './query-parts.js';

/** Where a memory comes from, and how deep the sources of a reflection are here (reference-mcp-cli §6.1). */
export function reflectionOrigin(
  parts: QueryParts,
  query: ReflectionOrigin,
): Result<Answers['reflection-origin']> {
  const found = getMemory(parts, { ...query, kind: 'get-memory', linksMax: 0 });
  if (!found.ok) return found;
  const { memory } = found.value;
  const { statements } = parts;
  const maker = statements
    .get('SELECT origin FROM operations WHERE subject = ? AND hlc = ?')
    .pluck()
    .get(memory.id, memory.created_hlc) as string | undefined;
  const gate = visibleRows('m', query.viewer, query.now);
  const sourceDepth = statements
    .get(
      `SELECT max(m.reflection_depth) FROM memory_links l JOIN memories m ON m.id = l.target_id
       WHERE l.source_id = @id AND l.relation = 'reflects_on' AND ${gate.sql}`,
    )
    .pluck()
    .get({ ...gate.parameters, id: memory.id }) as number | null;
  return ok({ memory, maker: maker ?? null, sourceDepth });
}
