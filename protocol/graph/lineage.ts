import { LINEAGE_MEMORIES_MAX } from '../base/limits.js';
import type { Relation } from '../links/link.js';
import type { Stopped, TraversalBudget } from './traversal-budget.js';

/** Relations that say what a memory was made from (reference-mcp-cli §1.3). */
export const PROVENANCE: ReadonlySet<string> = new Set<Relation>([
  'derived_from',
  'reflects_on',
  'derives_from',
]);

export type LineageDirection = 'ancestors' | 'descendants';

/** A link of provenance to a memory that the caller may see, or that was removed and that the caller may know of. */
export interface LineageLink {
  readonly id: string;
  readonly relation: string;
  /** Null for a removed memory. */
  readonly title: string | null;
  readonly namespace: string | null;
}

/** What a lineage asks of the store. */
export interface LineageSource {
  /** The links of provenance of a memory that count, by the other end and relation. */
  provenance(id: string, direction: LineageDirection): Iterable<LineageLink>;
  /** The SHA-256 of a memory's content. */
  contentId(id: string): string | null;
}

/** A memory of a lineage, by the shortest way to it. */
export interface LineageNode extends LineageLink {
  readonly depth: number;
  /** The SHA-256 of the content; null for a removed memory. */
  readonly cid: string | null;
  /** The memory from which the walk came here. */
  readonly via: string;
}

export interface Lineage {
  /** By depth, then id. */
  readonly nodes: readonly LineageNode[];
  readonly stopped: Stopped | null;
}

/** The memories that one was made from, or that were made from it. */
export function lineage(
  request: { readonly id: string; readonly direction: LineageDirection; readonly maxDepth: number },
  source: LineageSource,
  budget: TraversalBudget,
): Lineage {
  const { id: root, direction, maxDepth } = request;
  const seen = new Set([root]);
  const nodes: LineageNode[] = [];
  let level: LineageNode[] = [];
  const stopped = budget.run(() => {
    let frontier = [root];
    for (let depth = 1; depth <= maxDepth && frontier.length > 0; depth += 1) {
      for (const via of frontier) {
        budget.spend();
        for (const { id, relation, title, namespace } of source.provenance(via, direction)) {
          if (seen.has(id)) continue;
          if (seen.size > LINEAGE_MEMORIES_MAX) budget.exhaust();
          seen.add(id);
          const cid = title === null ? null : source.contentId(id);
          level.push({ id, cid, relation, depth, via, title, namespace });
        }
      }
      frontier = endLevel();
    }
  });
  endLevel();
  return { nodes, stopped };

  function endLevel(): string[] {
    level.sort((a, b) => (a.id < b.id ? -1 : 1));
    nodes.push(...level);
    const ids = level.map(({ id }) => id);
    level = [];
    return ids;
  }
}
