/** A namespace with its rows (interface §4.5, GET /taxonomy). */
export interface TaxonomyNode {
  readonly namespace: string;
  /** Rows of the namespace itself. */
  readonly count: number;
  /** Rows of the namespace and of all namespaces below it, shown or not. */
  readonly subtree_count: number;
  readonly children: TaxonomyNode[];
}

export interface Taxonomy {
  readonly tree: TaxonomyNode[];
  readonly total_count: number;
  /** True when the limit left out namespaces. */
  readonly truncated: boolean;
}

interface Bounds {
  /** The namespace at the root of the tree; null shows all. */
  readonly prefix: string | null;
  /** Levels below the root. */
  readonly depth: number;
  /** Namespaces in the tree. */
  readonly limit: number;
}

type Growing = { -readonly [K in keyof TaxonomyNode]: TaxonomyNode[K] } & { readonly level: number };

/**
 * The tree of namespaces with their counts. Namespaces without rows stand in it when some below them have rows. Levels
 * and namespaces that are not shown still count in their ancestors; where the limit leaves out namespaces, those with
 * the most rows stay.
 */
export function taxonomyOf(
  rows: readonly { readonly namespace: string; readonly count: number }[],
  { prefix, depth, limit }: Bounds,
): Taxonomy {
  const base = prefix === null ? 0 : levelsOf(prefix);
  const nodes = new Map<string, Growing>();
  let total = 0;
  for (const { namespace, count } of rows) {
    total += count;
    const segments = namespace.split('/');
    const first = Math.max(base, 1);
    const last = Math.min(segments.length, base + depth);
    for (let levels = first; levels <= last; levels += 1) {
      const name = segments.slice(0, levels).join('/');
      const node = nodes.get(name) ?? {
        namespace: name,
        count: 0,
        subtree_count: 0,
        children: [],
        level: levels,
      };
      node.subtree_count += count;
      if (levels === segments.length) node.count += count;
      nodes.set(name, node);
    }
  }
  const shown = [...nodes.values()].sort(
    (a, b) => a.level - b.level || b.subtree_count - a.subtree_count || (a.namespace < b.namespace ? -1 : 1),
  );
  return { tree: treeOf(shown.slice(0, limit)), total_count: total, truncated: shown.length > limit };
}

const levelsOf = (namespace: string): number => namespace.split('/').length;

/** Hangs each node under its parent, siblings by name; parents come before their children. */
function treeOf(nodes: readonly Growing[]): TaxonomyNode[] {
  const tree: TaxonomyNode[] = [];
  const placed = new Map<string, TaxonomyNode>();
  const byName = [...nodes].sort((a, b) => a.level - b.level || (a.namespace < b.namespace ? -1 : 1));
  for (const { namespace, count, subtree_count } of byName) {
    const node: TaxonomyNode = { namespace, count, subtree_count, children: [] };
    const parent = placed.get(namespace.slice(0, Math.max(namespace.lastIndexOf('/'), 0)));
    (parent?.children ?? tree).push(node);
    placed.set(namespace, node);
  }
  return tree;
}
