const SHOWN_MAX = 100;
/** So many titles of a dry run are shown. */
export const TITLES_SHOWN_MAX = 20;

/** So many things, with the word for one or for several. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A sentence with those of its counts that are not zero. */
export function withCounts(what: string, counts: readonly (readonly [number, string])[]): string {
  const parts = counts.filter(([count]) => count > 0).map(([, text]) => text);
  return parts.length === 0 ? what : `${what}; ${parts.join(', ')}`;
}

/** Notes the first lines of a report that may have very many. */
export function note(lines: string[], line: string): void {
  if (lines.length < SHOWN_MAX) lines.push(line);
}

/** The first rows, each in a line, and how many more there are. */
export function firstRows(rows: readonly string[], all = rows.length): readonly string[] {
  const shown = rows.slice(0, TITLES_SHOWN_MAX);
  const more = all - shown.length;
  return [...shown.map((row) => `  ${row}`), ...(more > 0 ? [`  and ${more} more`] : [])];
}

/** What a dry run would make, by namespace. */
export function addTo(fresh: Map<string, number>, namespace: string): void {
  fresh.set(namespace, (fresh.get(namespace) ?? 0) + 1);
}

/** The members of an answer that are only there when they hold something. */
export const filled = (lists: Readonly<Record<string, readonly string[]>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
