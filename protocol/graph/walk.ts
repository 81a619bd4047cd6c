import type { Link } from './link.js';
import { counts, endOf, type GraphMoment, startOf } from './moment.js';
import type { Stopped, TraversalBudget } from './traversal-budget.js';

/** A link as a walk reads it, with the memory at its end; `title` is null for one that the caller may not see. */
export interface WalkLink
  extends Pick<Link, 'target_id' | 'relation' | 'created_at' | 'valid_from' | 'valid_until' | 'observed_by'>,
    Partial<Pick<Link, 'retired_at' | 'believed_until'>> {
  readonly title: string | null;
  readonly target_namespace: string | null;
}

/** What a walk asks of the store. */
export interface WalkSource {
  /** The links of a memory by start, creation, target and relation (text order). */
  linksFrom(id: string): Iterable<WalkLink>;
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

/** A place with what decides where it comes in the answer. */
interface Step extends Place {
  readonly start: string;
  readonly createdAt: string;
  readonly relation: string;
  readonly row: WalkedMemory;
}

export const PATH_SEPARATOR = '->';

/**
 * The paths without a cycle that lead away from a memory, one row each: by depth, then start, then creation (interface
 * §4.5), then path and relation. A path through a memory that the caller may not see is left out.
 *
 * A level is walked only while the answer has room, and of each memory only the first links are read, so the answer's
 * limit bounds the work also at memories with very many links.
 */
export function walkGraph(request: WalkRequest, source: WalkSource, budget: TraversalBudget): Walked {
  const { sourceId, maxDepth, limit } = request;
  const found: Step[] = [];
  let level = new BestSteps(limit);
  let frontier: readonly Place[] = [{ id: sourceId, path: sourceId, trail: [sourceId] }];
  const stopped = budget.run(() => {
    for (let depth = 1; depth <= maxDepth && frontier.length > 0 && level.room > 0; depth += 1) {
      for (const place of frontier) {
        for (const step of stepsFrom(place, request, source, budget)) if (!level.take(step)) break;
      }
      const steps = level.sorted();
      found.push(...steps);
      level = new BestSteps(limit - found.length);
      // Two links between the same memories are two rows, but one path.
      frontier = [...new Map(steps.map((step) => [step.path, step])).values()];
    }
  });
  // What a stopped walk has of its last level.
  found.push(...level.sorted());
  return { memories: found.map(({ row }) => row), stopped };
}

/** The steps that go on from one, in the order of the answer. */
function* stepsFrom(
  parent: Place,
  { moment, allowedAgents, relations }: WalkRequest,
  source: WalkSource,
  budget: TraversalBudget,
): Generator<Step> {
  budget.spend();
  for (const link of source.linksFrom(parent.id)) {
    budget.spend();
    const { target_id, relation, observed_by, title, target_namespace } = link;
    if (title === null || target_namespace === null || !counts(link, moment)) continue;
    if (relations !== null && !relations.has(relation)) continue;
    if (allowedAgents !== null && (observed_by === null || !allowedAgents.has(observed_by))) continue;
    if (parent.trail.includes(target_id)) continue;
    const path = `${parent.path}${PATH_SEPARATOR}${target_id}`;
    yield {
      ...{ id: target_id, path, trail: [...parent.trail, target_id], relation },
      ...{ start: startOf(link), createdAt: link.created_at },
      row: {
        ...{ target_id, relation, valid_from: link.valid_from, valid_until: endOf(link, moment) },
        ...{ observed_by, title, target_namespace, depth: parent.trail.length, path },
      },
    };
  }
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
    textOrder(a.createdAt, b.createdAt) ||
    textOrder(a.path, b.path) ||
    textOrder(a.relation, b.relation)
  );
}

const textOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
