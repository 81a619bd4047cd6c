import type { Stopped, TraversalBudget } from './traversal-budget.js';

/** What the search for paths asks of the store. */
export interface PathSource {
  /** The links of memories, in either direction, each with its other end; null for a link that does not count. */
  neighbours(ids: readonly string[]): Iterable<readonly [id: string, end: string | null]>;
  /** Those of some memories that the caller may see. */
  shown(ids: readonly string[]): readonly string[];
}

/** Memories that are asked for by one question of the store. */
const AT_A_TIME = 32;

export interface PathRequest {
  readonly sourceId: string;
  readonly targetId: string;
  readonly maxDepth: number;
  readonly maxResults: number;
}

export interface FoundPaths {
  /** Each from the source to the target. */
  readonly paths: readonly (readonly string[])[];
  readonly stopped: Stopped | null;
}

/**
 * The paths without a cycle between two memories, along links in either direction: the shortest first, then by the text
 * of their ids joined with `->`. Every memory on a path must show.
 *
 * Both ends are explored, always the one with fewer memories at its edge, so that the distances to the target are known
 * for every memory that can lie on a path of the present length. Only such memories are then tried.
 */
export function findPaths(request: PathRequest, source: PathSource, budget: TraversalBudget): FoundPaths {
  const { sourceId, targetId, maxDepth, maxResults } = request;
  if (sourceId === targetId) return { paths: [[sourceId]], stopped: null };
  const paths: string[][] = [];
  const graph = new KnownGraph(source, budget);
  const stopped = budget.run(() => {
    const ahead = new Ball(sourceId, graph);
    const behind = new Ball(targetId, graph);
    for (let length = 1; length <= maxDepth && paths.length < maxResults; length += 1) {
      (ahead.edge.length < behind.edge.length ? ahead : behind).grow();
      const distances = distancesTo(behind, ahead);
      const next = (trail: readonly string[], left: number) =>
        graph.stepsOf(trail.at(-1)!).filter((id) => (distances.get(id) ?? maxDepth) <= left - 1);
      for (const path of pathsOfLength(length, [sourceId], targetId, next, graph)) {
        paths.push(path);
        if (paths.length === maxResults) return;
      }
    }
  });
  return { paths, stopped };
}

/** Paths of exactly this length that go on from a trail, in the order of their text. */
function* pathsOfLength(
  left: number,
  trail: readonly string[],
  targetId: string,
  next: (trail: readonly string[], left: number) => readonly string[],
  graph: KnownGraph,
): Generator<string[]> {
  // The target may only be the end.
  const steps = next(trail, left).filter((id) => (id === targetId) === (left === 1) && !trail.includes(id));
  const sorted = [...steps].sort(byPathText);
  for (const [at, id] of sorted.entries()) {
    if (at % AT_A_TIME === 0) graph.read(sorted.slice(at, at + AT_A_TIME), { links: left > 1 });
    graph.visit();
    if (!graph.shows(id)) continue;
    if (left === 1) yield [...trail, id];
    else yield* pathsOfLength(left - 1, [...trail, id], targetId, next, graph);
  }
}

/** In the text of a path an id is followed by `->`, which sorts before most of the characters that ids have. */
function byPathText(a: string, b: string): number {
  const [left, right] = [`${a}->`, `${b}->`];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** What was read of the graph so far; each memory's links are read once. */
class KnownGraph {
  private readonly steps = new Map<string, readonly string[]>();
  private readonly shown = new Map<string, boolean>();

  constructor(
    private readonly source: PathSource,
    private readonly budget: TraversalBudget,
  ) {}

  /** Reads what is not known yet of some memories: whether they show, and the links of those that do. */
  read(ids: readonly string[], { links }: { readonly links: boolean }): void {
    const unseen = ids.filter((id) => !this.shown.has(id));
    const shown = new Set(unseen.length === 0 ? [] : this.source.shown(unseen));
    for (const id of unseen) this.shown.set(id, shown.has(id));
    const unread = links ? ids.filter((id) => this.shows(id) && !this.steps.has(id)) : [];
    if (unread.length === 0) return;
    const ends = new Map<string, Set<string>>();
    for (const id of unread) {
      this.budget.spend();
      ends.set(id, new Set());
    }
    for (const [id, end] of this.source.neighbours(unread)) {
      this.budget.spend();
      if (end !== null) ends.get(id)!.add(end);
    }
    for (const [id, found] of ends) this.steps.set(id, [...found]);
  }

  stepsOf(id: string): readonly string[] {
    if (!this.steps.has(id)) this.read([id], { links: true });
    return this.steps.get(id) ?? [];
  }

  shows(id: string): boolean {
    if (!this.shown.has(id)) this.read([id], { links: false });
    return this.shown.get(id)!;
  }

  visit(): void {
    this.budget.spend();
  }
}

/** The memories around one, with their distances. */
class Ball {
  readonly distances: Map<string, number>;
  /** The outermost memories; their own links are not read yet. */
  edge: readonly string[];
  /** Memories by a neighbour of theirs: from a memory back towards the centre. */
  readonly back = new Map<string, string[]>();
  private radius = 0;

  constructor(
    centre: string,
    private readonly graph: KnownGraph,
  ) {
    this.distances = new Map([[centre, 0]]);
    this.edge = [centre];
  }

  grow(): void {
    this.radius += 1;
    const edge: string[] = [];
    for (const [at, id] of this.edge.entries()) {
      if (at % AT_A_TIME === 0) this.graph.read(this.edge.slice(at, at + AT_A_TIME), { links: true });
      if (!this.graph.shows(id)) continue;
      for (const step of this.graph.stepsOf(id)) {
        const back = this.back.get(step);
        if (back === undefined) this.back.set(step, [id]);
        else back.push(id);
        if (this.distances.has(step)) continue;
        this.distances.set(step, this.radius);
        edge.push(step);
      }
    }
    this.edge = edge;
  }
}

/**
 * Distances to the centre of `behind`: of its own memories, and of those of `ahead` from which its edge can be reached.
 */
function distancesTo(behind: Ball, ahead: Ball): ReadonlyMap<string, number> {
  const distances = new Map(behind.distances);
  let level: readonly string[] = behind.edge;
  let distance = level.length === 0 ? 0 : distances.get(level[0]!)!;
  while (level.length > 0) {
    distance += 1;
    const further: string[] = [];
    for (const id of level) {
      for (const before of ahead.back.get(id) ?? []) {
        if (distances.has(before)) continue;
        distances.set(before, distance);
        further.push(before);
      }
    }
    level = further;
  }
  return distances;
}
