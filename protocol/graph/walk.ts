import type { Link } from '../links/link.js';
import { counts, endOf, type GraphMoment, type LinkTimes, startOf } from './moment.js';
import type { Stopped, TraversalBudget } from './traversal-budget.js';

/**
 * A link, or an earlier period of one, as a walk reads it, with the memory at its end, whose members are null where the
 * caller may not see it.
 */
export interface WalkLink
  extends Pick<
      Link,
      'source_id' | 'target_id' | 'relation' | 'created_at' | 'valid_from' | 'valid_until' | 'observed_by'
    >,
    Omit<LinkTimes, 'created_at' | 'valid_from' | 'valid_until'> {
  readonly title: string | null;
  readonly target_namespace: string | null;
}

/** What a walk asks of the store. */
export interface WalkSource {
  /** The links of memories, those of one after those of the other, each by start, creation, target and relation. */
  linksFrom(ids: readonly string[]): Iterable<WalkLink>;
}

export interface WalkRequest {
  readonly sourceId: string;
  readonly maxDepth: number;
  readonly limit: number;
  readonly moment: GraphMoment;
  /** Only links that one of these agents observed; null for all. */
  readonly allowedAgents: ReadonlySet<string> | null;
  /** Only links of these relations; null for all. */
  readonly relations: ReadonlySet<string> | null;
}

/** A memory that a walk reached, by the path that led there. */
export interface WalkedMemory {
  readonly target_id: string;
  readonly relation: string;
  readonly valid_from: string | null;
  readonly valid_until: string | null;
  readonly observed_by: string | null;
  readonly title: string;
  readonly target_namespace: string;
  readonly depth: number;
  /** The ids from the source to this memory, joined with `->`. */
  readonly path: string;
}

export interface Walked {
  readonly memories: readonly WalkedMemory[];
  readonly stopped: Stopped | null;
}

/** The end of a path from the source. */
interface Place {
  readonly id: string;
  readonly path: string;
  readonly trail: readonly string[];
}

/** A link that goes on from a place, with what decides where it comes in the answer. */
interface Step {
  readonly start: string;
  readonly link: WalkLink;
  readonly parent: Place;
}

export const PATH_SEPARATOR = '->';

/** Memories whose links are read by one question of the store. */
const SOURCES_AT_A_TIME = 32;
/** Links of one memory that are passed over, before those of the next memories are asked for again. */
const PASSED_OVER_MAX = 64;

/**
 * The paths without a cycle that lead away from a memory, one row each: by depth, then start, then creation (interface
 * §4.5), then path and relation. A path through a memory that the caller may not see is left out.
 *
 * A level is walked only while the answer has room, and of each memory only the first links are read, so the answer's
 * limit bounds the work also at memories with very many links.
 */
export function walkGraph(request: WalkRequest, source: WalkSource, budget: TraversalBudget): Walked {
  const { sourceId, maxDepth, limit, moment } = request;
  const found: Step[] = [];
  let level = new BestSteps(limit);
  let frontier: readonly Place[] = [{ id: sourceId, path: sourceId, trail: [sourceId] }];
  const stopped = budget.run(() => {
    for (let depth = 1; depth <= maxDepth && frontier.length > 0 && level.room > 0; depth += 1) {
      takeSteps(frontier, level, request, source, budget);
      const steps = level.sorted();
      found.push(...steps);
      level = new BestSteps(limit - found.length);
      // Two links between the same memories are two rows, but one path.
      frontier = [...new Map(steps.map(placeOf).map((place) => [place.path, place])).values()];
    }
  });
  // What a stopped walk has of its last level.
  found.push(...level.sorted());
  return { memories: found.map((step) => walkedMemory(step, moment)), stopped };
}

/** Takes the steps that go on from places, as far as the level has room for them. */
function takeSteps(
  frontier: readonly Place[],
  level: BestSteps,
  request: WalkRequest,
  source: WalkSource,
  budget: TraversalBudget,
): void {
  const placesAt = new Map<string, Place[]>();
  for (const place of frontier) {
    budget.spend();
    const others = placesAt.get(place.id);
    if (others === undefined) placesAt.set(place.id, [place]);
    else others.push(place);
  }
  const takes = (place: Place, link: WalkLink): boolean => {
    budget.spend();
    const step = stepOver(link, place, request);
    return step === null || level.take(step);
  };
  const ids = [...placesAt.keys()];
  for (let at = 0; at < ids.length; at += SOURCES_AT_A_TIME) {
    let unread = new Set(ids.slice(at, at + SOURCES_AT_A_TIME));
    while (unread.size > 0) unread = readLinks(unread, placesAt, source, takes);
  }
}

/** Offers the links of memories to the places there, until those take no more; returns the memories that are left to read. */
function readLinks(
  unread: Set<string>,
  placesAt: ReadonlyMap<string, readonly Place[]>,
  source: WalkSource,
  takes: (place: Place, link: WalkLink) => boolean,
): Set<string> {
  let sourceId: string | null = null;
  let open: readonly Place[] = [];
  let passedOver = 0;
  for (const link of source.linksFrom([...unread])) {
    if (link.source_id !== sourceId) {
      sourceId = link.source_id;
      unread.delete(sourceId);
      open = placesAt.get(sourceId)!;
      passedOver = 0;
    }
    if (open.length > 0) {
      open = open.filter((place) => takes(place, link));
    } else {
      passedOver += 1;
      if (passedOver > PASSED_OVER_MAX) return unread;
    }
  }
  return new Set();
}

/** The step over a link; null for a link that the walk does not follow. */
function stepOver(
  link: WalkLink,
  parent: Place,
  { moment, allowedAgents, relations }: WalkRequest,
): Step | null {
  const { target_id, relation, observed_by, title } = link;
  if (title === null || !counts(link, moment)) return null;
  if (relations !== null && !relations.has(relation)) return null;
  if (allowedAgents !== null && (observed_by === null || !allowedAgents.has(observed_by))) return null;
  if (parent.trail.includes(target_id)) return null;
  return { start: startOf(link), link, parent };
}

const pathOf = ({ link, parent }: Step): string => `${parent.path}${PATH_SEPARATOR}${link.target_id}`;

function placeOf(step: Step): Place {
  const id = step.link.target_id;
  return { id, path: pathOf(step), trail: [...step.parent.trail, id] };
}

function walkedMemory(step: Step, moment: GraphMoment): WalkedMemory {
  const { link, parent } = step;
  return {
    target_id: link.target_id,
    relation: link.relation,
    valid_from: link.valid_from,
    valid_until: endOf(link, moment),
    observed_by: link.observed_by,
    title: link.title!,
    target_namespace: link.target_namespace!,
    depth: parent.trail.length,
    path: pathOf(step),
  };
}

/** The first steps of a level, at most `room`. */
class BestSteps {
  private steps: Step[] = [];
  private last: Step | null = null;

  constructor(readonly room: number) {}

  /** Takes a step; false when neither it nor any later one has a place. */
  take(step: Step): boolean {
    if (this.last !== null && inOrder(step, this.last) > 0) return false;
    this.steps.push(step);
    if (this.steps.length >= 2 * this.room) {
      this.cut();
      this.last = this.steps.at(-1)!;
    }
    return true;
  }

  sorted(): readonly Step[] {
    this.cut();
    return this.steps;
  }

  private cut(): void {
    this.steps.sort(inOrder);
    this.steps.length = Math.min(this.steps.length, this.room);
  }
}

function inOrder(a: Step, b: Step): number {
  return (
    textOrder(a.start, b.start) ||
    textOrder(a.link.created_at, b.link.created_at) ||
    textOrder(pathOf(a), pathOf(b)) ||
    textOrder(a.link.relation, b.link.relation)
  );
}

const textOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
