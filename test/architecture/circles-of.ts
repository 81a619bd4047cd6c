/** The circles of a graph: its strongly connected components of two nodes or more, each sorted, the first first (Tarjan). */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const indexes = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const circles: string[][] = [];
  const visit = (node: string): void => {
    const index = indexes.size;
    indexes.set(node, index);
    lowest.set(node, index);
    stack.push(node);
    onStack.add(node);
    const reach = (low: number) => lowest.set(node, Math.min(lowest.get(node)!, low));
    for (const next of graph.get(node) ?? []) {
      if (!indexes.has(next)) {
        visit(next);
        reach(lowest.get(next)!);
      } else if (onStack.has(next)) reach(indexes.get(next)!);
    }
    if (lowest.get(node) !== index) return;
    const component = stack.splice(stack.indexOf(node));
    for (const member of component) onStack.delete(member);
    if (component.length > 1) circles.push(component.sort());
  };
  for (const node of graph.keys()) if (!indexes.has(node)) visit(node);
  return circles.sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
}
