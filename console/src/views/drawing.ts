import { call, MnemeshError } from '../api.js';
import { inTurns } from '../lib/in-turns.js';
import { linkKey, type TimedLink } from '../lib/link-times.js';

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
/** Of a namespace, for those who are no admins. */
const LISTED_MAX = 300;

/** The memories of a namespace and their links. Only admins read whole namespaces; others are asked for row by row. */
export async function drawingOfNamespace(namespace: string, signal: AbortSignal): Promise<Drawing> {
  try {
    return await exportedNamespace(namespace, signal);
  } catch (error) {
    if (error instanceof MnemeshError && error.code === 'ADMIN_REQUIRED')
      return listedNamespace(namespace, signal);
    throw error;
  }
}

async function exportedNamespace(namespace: string, signal: AbortSignal): Promise<Drawing> {
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
  return {
    nodes: kept,
    links: linksBetween(new Set(kept.map(({ id }) => id)), links),
    centre: null,
    isCut: cursor !== undefined || kept.length < nodes.length,
  };
}

async function listedNamespace(namespace: string, signal: AbortSignal): Promise<Drawing> {
  const { memories, next_cursor: next } = await call(
    'memory_list',
    { namespace, limit: LISTED_MAX },
    { signal },
  );
  const nodes = memories.map(({ id, title, namespace: where }) => ({ id, title, namespace: where }));
  const found = await inTurns(
    nodes,
    async ({ id }) => (await call('memory_get_links', { id }, { signal })).links,
  );
  const links = linksBetween(new Set(nodes.map(({ id }) => id)), found.flat());
  return { nodes, links, centre: null, isCut: next !== undefined };
}

/** The links whose both ends are drawn, each once. */
function linksBetween(drawn: ReadonlySet<string>, links: readonly TimedLink[]): readonly TimedLink[] {
  const inside = links.filter(({ source_id: from, target_id: to }) => drawn.has(from) && drawn.has(to));
  return [...new Map(inside.map((link) => [linkKey(link), link])).values()];
}

/** A memory and what is linked with it, two steps far. */
export async function drawingOfMemory(id: string, signal: AbortSignal): Promise<Drawing> {
  const { memory } = await call('memory_get', { id }, { signal });
  const nodes = new Map<string, DrawnMemory>([[memory.id, memory]]);
  const links: TimedLink[] = [];
  let [edge, isCut] = [[memory.id] as readonly string[], false];
  for (let step = 0; step < STEPS; step += 1) {
    const found = await inTurns(
      edge,
      async (each) => (await call('memory_get_links', { id: each }, { signal })).links,
    );
    links.push(...found.flat());
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
  const inside = linksBetween(new Set(nodes.keys()), links);
  return { nodes: [...nodes.values()], links: inside, centre: memory.id, isCut };
}
