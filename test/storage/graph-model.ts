import type { Link, Relation } from '../../protocol/links/link.js';

/** What happened to a link, in the order in which this mesh was told. */
type Event =
  | {
      readonly at: string;
      readonly what: 'linked';
      readonly observedBy: string | null;
      readonly from: string | null;
      readonly until: string | null;
    }
  | { readonly at: string; readonly what: 'ended'; readonly until: string };

interface ModelLink {
  readonly source: string;
  readonly target: string;
  readonly relation: Relation;
  readonly events: Event[];
}

export interface ModelMemory {
  readonly id: string;
  readonly title: string;
  /** Null for one that everybody sees. */
  readonly privateTo: string | null;
}

export interface Asked {
  readonly validAt: string | null;
  readonly believedAt: string | null;
  /** Null for the operator. */
  readonly as: string | null;
}

/** A link as it was believed. */
interface Believed {
  readonly source: string;
  readonly target: string;
  readonly relation: string;
  readonly observedBy: string | null;
  readonly created: string;
  readonly from: string | null;
  readonly until: string | null;
}

/**
 * The knowledge graph as plain lists: a link is the list of its events, and what was believed on a day is what the events
 * until that day say: each time that it was made begins a period of its own. It tries every path.
 */
export class GraphModel {
  private readonly links = new Map<string, ModelLink>();

  constructor(private readonly memories: readonly ModelMemory[]) {}

  keys(): readonly string[] {
    return [...this.links.keys()].sort();
  }

  link(link: Pick<Link, 'source_id' | 'target_id' | 'relation'>, event: Event): void {
    const { source_id: source, target_id: target, relation } = link;
    const key = `${source}|${target}|${relation}`;
    const events = [...(this.links.get(key)?.events ?? []), event];
    this.links.set(key, { source, target, relation, events });
  }

  end(key: string, at: string, until: string): void {
    this.links.get(key)!.events.push({ at, what: 'ended', until });
  }

  drop(key: string): void {
    this.links.delete(key);
  }

  walk(
    root: string,
    asked: Asked,
    { depth, limit, agents }: { depth: number; limit: number; agents: readonly string[] | null },
  ) {
    const rows = new Map<string, { depth: number; order: string[]; row: object }>();
    const links = this.believed(asked).filter(
      ({ observedBy }) => agents === null || (observedBy !== null && agents.includes(observedBy)),
    );
    const go = (trail: readonly string[]) => {
      if (trail.length > depth) return;
      for (const link of links) {
        const { source, target, relation, from, until, observedBy, created } = link;
        if (source !== trail.at(-1) || trail.includes(target)) continue;
        const path = [...trail, target].join('->');
        rows.set(`${path} ${relation} ${created}`, {
          depth: trail.length,
          order: [from ?? created, created, path, relation],
          row: {
            ...{ target_id: target, relation, valid_from: from, valid_until: until, observed_by: observedBy },
            ...{ title: this.titleOf(target), target_namespace: 'global', depth: trail.length, path },
          },
        });
        go([...trail, target]);
      }
    };
    go([root]);
    return [...rows.values()]
      .sort((a, b) => a.depth - b.depth || byTexts(a.order, b.order))
      .slice(0, limit)
      .map(({ row }) => row);
  }

  timeline(
    root: string,
    asked: Asked,
    { since, until: last, limit }: { since: string | null; until: string | null; limit: number },
  ) {
    return this.believed({ ...asked, validAt: null })
      .filter(({ source, from }) => source === root && from !== null)
      .filter(({ from }) => (since === null || from! >= since) && (last === null || from! <= last))
      .sort((a, b) =>
        byTexts([a.from!, a.created, a.target, a.relation], [b.from!, b.created, b.target, b.relation]),
      )
      .slice(0, limit)
      .map(({ target, relation, from, until, observedBy }) => ({
        ...{ target_id: target, relation, valid_from: from, valid_until: until, observed_by: observedBy },
        ...{ title: this.titleOf(target), target_namespace: 'global' },
      }));
  }

  paths(
    root: string,
    goal: string,
    asked: Asked,
    { depth, results }: { depth: number; results: number },
  ): readonly (readonly string[])[] {
    if (root === goal) return [[root]];
    const links = this.believed(asked);
    const found = new Map<string, readonly string[]>();
    const go = (trail: readonly string[]) => {
      const here = trail.at(-1)!;
      if (here === goal) found.set(trail.join('->'), trail);
      if (here === goal || trail.length > depth) return;
      for (const { source, target } of links) {
        const next = source === here ? target : target === here ? source : null;
        if (next !== null && !trail.includes(next)) go([...trail, next]);
      }
    };
    go([root]);
    return [...found]
      .sort(([a, left], [b, right]) => left.length - right.length || byTexts([a], [b]))
      .slice(0, results)
      .map(([, path]) => path);
  }

  /** What the events until then say, between memories that the asker sees. */
  private believed({ validAt, believedAt, as }: Asked): Believed[] {
    const sees = (id: string) => {
      const { privateTo } = this.memories.find((memory) => memory.id === id)!;
      return as === null || privateTo === null || privateTo === as;
    };
    return [...this.links.values()].flatMap((link) => {
      const { source, target, relation, events } = link;
      if (!sees(source) || !sees(target)) return [];
      const periods: Believed[] = [];
      for (const event of events.filter(({ at }) => believedAt === null || at <= believedAt)) {
        const { at: created, until } = event;
        if (event.what === 'ended') periods.push({ ...periods.pop()!, until });
        else periods.push({ source, target, relation, ...event, created, from: event.from, until });
      }
      return periods.filter(
        ({ from, created, until }) =>
          validAt === null || ((from ?? created) <= validAt && (until === null || validAt < until)),
      );
    });
  }

  private titleOf(id: string): string {
    return this.memories.find((memory) => memory.id === id)!.title;
  }
}

function byTexts(a: readonly string[], b: readonly string[]): number {
  for (const [at, text] of a.entries()) if (text !== b[at]) return text < b[at]! ? -1 : 1;
  return 0;
}
