import { call } from '../api.js';
import type { TimedLink } from '../lib/link-times.js';

/** What a graph draws. */
export interface Drawing {
  readonly nodes: readonly DrawnMemory[];
  readonly links: readonly TimedLink[];
  /** The memory that it is about; null for a namespace. */
  readonly centre: string | null;
  /** More is left out. */
  readonly isCut: boolean;
}

interface DrawnMemory {
  readonly id: string;
  readonly title: string;
  readonly namespace: string;
}

const NODES_MAX = 5000;
const PAGE = 1000;
/** Around one memory each is asked for by itself. */
const AROUND_MAX = 60;
const STEPS = 2;
const TOGETHER = 8;

/** The memories of a namespace and their links. Only admins read whole namespaces. */
export async function drawingOfNamespace(namespace: string, signal: AbortSignal): Promise<Drawing> {
  const nodes: DrawnMemory[] = [];
  const links: TimedLink[] = [];
  let cursor: string | undefined;
  do {
    const page = await call('memory_export', { namespace, limit: PAGE, cursor }, { signal });
    nodes.push(...page.memories.map(({ id, title, namespace: where }) => ({ id, title, namespace: where })));
    links.push(...(page.links as readonly TimedLink[]));
    cursor = page.next_cursor;
  } while (cursor !== undefined && nodes.length < NODES_MAX);
  const kept = nodes.slice(0, NODES_MAX);
  const ids = new Set(kept.map(({ id }) => id));
  const inside = links.filter(({ source_id: from, target_id: to }) => ids.has(from) && ids.has(to));
  return {
    nodes: kept,
    links: inside,
    centre: null,
    isCut: cursor !== undefined || kept.length < nodes.length,
  };
}

/** A memory and what is linked with it, two steps far. */
export async function drawingOfMemory(id: string, signal: AbortSignal): Promise<Drawing> {
  const { memory } = await call('memory_get', { id }, { signal });
  const nodes = new Map<string, DrawnMemory>([[memory.id, memory]]);
  const links = new Map<string, TimedLink>();
  let [edge, isCut] = [[memory.id] as readonly string[], false];
  for (let step = 0; step < STEPS; step += 1) {
    const found = await inTurns(
      edge,
      async (each) => (await call('memory_get_links', { id: each }, { signal })).links,
    );
    for (const link of found.flat()) links.set(`${link.source_id} ${link.relation} ${link.target_id}`, link);
    const next = new Set(found.flat().flatMap(({ source_id: from, target_id: to }) => [from, to]));
    const fresh = [...next].filter((each) => !nodes.has(each));
    const room = AROUND_MAX - nodes.size;
    isCut ||= fresh.length > room;
    const read = await inTurns(fresh.slice(0, Math.max(0, room)), (each) =>
      call('memory_get', { id: each }, { signal }).then(
        (answer) => answer.memory,
        () => null,
      ),
    );
    edge = read.flatMap((each) => (each === null ? [] : [each.id]));
    for (const each of read) if (each !== null) nodes.set(each.id, each);
  }
  const inside = [...links.values()].filter(
    ({ source_id: from, target_id: to }) => nodes.has(from) && nodes.has(to),
  );
  return { nodes: [...nodes.values()], links: inside, centre: memory.id, isCut };
}

/** A few at a time, so that the node has room for others. */
async function inTurns<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += TOGETHER)
    results.push(...(await Promise.all(items.slice(at, at + TOGETHER).map(run))));
  return results;
}
