const TOGETHER = 8;

/** Does something for each item, a few at a time, so that the node has room for others. */
export async function inTurns<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += TOGETHER)
    results.push(...(await Promise.all(items.slice(at, at + TOGETHER).map(run))));
  return results;
}
