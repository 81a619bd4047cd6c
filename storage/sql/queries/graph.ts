import { LINEAGE_MEMORIES_MAX } from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { findPaths, type PathSource } from '../../../protocol/graph/find-paths.js';
import {
  type LineageLink,
  type LineageSource,
  lineage,
  PROVENANCE,
} from '../../../protocol/graph/lineage.js';
import { counts, endOf, type GraphMoment, startOf } from '../../../protocol/graph/moment.js';
import type {
  FindPaths,
  GraphTimeline,
  ListDependents,
  MemoryLineage,
  MemoryName,
  PathLink,
  TimelineEvent,
  WalkGraph,
} from '../../../protocol/graph/queries.js';
import { TraversalBudget } from '../../../protocol/graph/traversal-budget.js';
import { walkGraph } from '../../../protocol/graph/walk.js';
import type { Answers } from '../../../protocol/release.js';
import { nameMemory } from './get.js';
import { GraphLinks, type LinkRow } from './graph-links.js';
import type { QueryParts } from './query-parts.js';

/** What holds now, as it is known now. */
const present = ({ now }: { readonly now: string }): GraphMoment => ({ validAt: now, believedAt: null });

/** The memories that can be reached from one (interface §4.5, POST /kg/query). */
export function walkFrom(parts: QueryParts, query: WalkGraph): Result<Answers['walk-graph']> {
  const source = nameMemory(parts, query);
  if (!source.ok) return failed(source.error);
  const links = new GraphLinks(parts, query, query.moment);
  const budget = new TraversalBudget(parts.clock);
  const { maxDepth, limit, moment, allowedAgents, relations } = query;
  const walked = walkGraph(
    {
      ...{ sourceId: source.value.id, maxDepth, limit, moment },
      allowedAgents: allowedAgents === null ? null : new Set(allowedAgents),
      relations: relations === null ? null : new Set(relations),
    },
    { linksFrom: (ids) => links.inTimeOrder(ids) },
    budget,
  );
  return ok({ source: source.value, ...walked, spent: budget.spent });
}

/** The dated links of a memory (interface §4.5, GET /kg/timeline). */
export function timelineOf(parts: QueryParts, query: GraphTimeline): Result<Answers['graph-timeline']> {
  const source = nameMemory(parts, query);
  if (!source.ok) return failed(source.error);
  const { since, until, believedAt, limit } = query;
  const moment = { validAt: null, believedAt };
  const events: TimelineEvent[] = [];
  const budget = new TraversalBudget(parts.clock);
  const stopped = budget.run(() => {
    for (const link of new GraphLinks(parts, query, moment).inTimeOrder([source.value.id], since)) {
      budget.spend();
      if (until !== null && startOf(link) > until) break;
      const { target_id, relation, valid_from, observed_by, title, target_namespace } = link;
      if (valid_from === null || title === null || target_namespace === null || !counts(link, moment)) {
        continue;
      }
      events.push({
        ...{ target_id, relation, valid_from, valid_until: endOf(link, moment) },
        ...{ observed_by, title, target_namespace },
      });
      if (events.length === limit) break;
    }
  });
  return ok({ source: source.value, events, stopped, spent: budget.spent });
}

/** The paths between two memories (reference-http §3.6). */
export function pathsBetween(parts: QueryParts, query: FindPaths): Result<Answers['find-paths']> {
  const source = nameMemory(parts, query);
  if (!source.ok) return failed(source.error);
  const target = nameMemory(parts, { ...query, id: query.targetId });
  if (!target.ok) return failed(target.error);
  const links = new GraphLinks(parts, query, query.moment);
  const budget = new TraversalBudget(parts.clock);
  const graph: PathSource = {
    *neighbours(ids) {
      for (const link of links.around(ids)) yield [link.own, counts(link, query.moment) ? link.id : null];
    },
    shown(ids) {
      links.readNames(ids);
      return ids.filter((id) => links.nameOf(id) !== null);
    },
  };
  const { maxDepth, maxResults } = query;
  const request = { sourceId: source.value.id, targetId: target.value.id, maxDepth, maxResults };
  const { paths, stopped } = findPaths(request, graph, budget);
  const memories = [...new Set(paths.flat())].map((id) => links.nameOf(id)!);
  return ok({
    ...{ source: source.value, target: target.value, paths, memories },
    ...{ links: linksOn(paths, links, query.moment), stopped, spent: budget.spent },
  });
}

/** The links between neighbours on paths, in the order in which the paths take them. */
function linksOn(
  paths: readonly (readonly string[])[],
  links: GraphLinks,
  moment: GraphMoment,
): readonly PathLink[] {
  const pairs = new Map<string, readonly [string, string]>();
  for (const path of paths) {
    for (const [at, to] of path.slice(1).entries()) {
      const from = path[at]!;
      pairs.set(`${from} ${to}`, [from, to]).set(`${to} ${from}`, [to, from]);
    }
  }
  const found = new Map([...pairs.keys()].map((pair) => [pair, new Map<string, PathLink>()]));
  for (const link of links.between([...pairs.values()])) {
    const { source_id, target_id, relation } = link;
    if (counts(link, moment))
      found.get(`${source_id} ${target_id}`)!.set(relation, { source_id, target_id, relation });
  }
  return [...found.values()].flatMap((of) => [...of.values()]);
}

/** The memories that one was made from, or that were made from it (reference-mcp-cli §1.3). */
export function lineageOf(parts: QueryParts, query: MemoryLineage): Result<Answers['memory-lineage']> {
  const root = nameMemory(parts, query);
  if (!root.ok) return failed(root.error);
  const links = new GraphLinks(parts, query, present(query));
  const budget = new TraversalBudget(parts.clock);
  const { relation: only } = query;
  const isFollowed = (relation: string) =>
    only === undefined ? PROVENANCE.has(relation) : relation === only;
  const known = (link: LinkRow) => link.title !== null || links.isKnownRemoval(link);
  const content = parts.statements.get('SELECT content FROM memories WHERE id = ?').pluck();
  const source: LineageSource = {
    *provenance(id, direction): Iterable<LineageLink> {
      for (const link of links.byId(id, direction === 'ancestors' ? 'out' : 'in')) {
        budget.spend();
        if (isFollowed(link.relation) && counts(link, present(query)) && known(link)) yield link;
      }
    },
    contentId: (id) => parts.crypto.sha256Hex(content.get(id) as string),
  };
  const { direction, maxDepth } = query;
  const walked = lineage({ id: root.value.id, direction, maxDepth }, source, budget);
  return ok({ root: root.value, ...walked, spent: budget.spent });
}

/** The memories that reflect on one (reference-mcp-cli §6.1). */
export function dependentsOf(parts: QueryParts, query: ListDependents): Result<Answers['list-dependents']> {
  const root = nameMemory(parts, query);
  if (!root.ok) return failed(root.error);
  const dependents: MemoryName[] = [];
  const budget = new TraversalBudget(parts.clock);
  const stopped = budget.run(() => {
    for (const link of new GraphLinks(parts, query, present(query)).byId(root.value.id, 'in')) {
      budget.spend();
      const { id, relation, title, namespace } = link;
      if (relation !== 'reflects_on' || title === null || namespace === null) continue;
      if (!counts(link, present(query))) continue;
      if (dependents.length === LINEAGE_MEMORIES_MAX) budget.exhaust();
      dependents.push({ id, title, namespace });
    }
  });
  return ok({ root: root.value, dependents, stopped, spent: budget.spent });
}
