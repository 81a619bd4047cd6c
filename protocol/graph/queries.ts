import type { Ask } from '../base/ask.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { Link, Relation } from '../links/link.js';
import type { LineageDirection, LineageNode } from './lineage.js';
import type { LinksOfMemory, LinksOfMemoryAnswer, NamedLinks, NamedLinksAnswer } from './link-queries.js';
import type { GraphMoment } from './moment.js';
import type { Stopped } from './traversal-budget.js';
import type { WalkedMemory, WalkRequest } from './walk.js';

/** Queries of links, each with its answer. */
export interface GraphQueries {
  readonly 'links-of-memory': Ask<LinksOfMemory, LinksOfMemoryAnswer>;
  readonly 'named-links': Ask<NamedLinks, NamedLinksAnswer>;
  /** Memory id and newest link, for memories that have a link. */
  readonly 'newest-links': Ask<
    NewestLinks,
    { readonly newest: readonly (readonly [id: MemoryId, link: Link])[] }
  >;
  readonly 'walk-graph': Ask<
    WalkGraph,
    Traversal & { readonly source: MemoryName; readonly memories: readonly WalkedMemory[] }
  >;
  readonly 'graph-timeline': Ask<
    GraphTimeline,
    Traversal & { readonly source: MemoryName; readonly events: readonly TimelineEvent[] }
  >;
  readonly 'find-paths': Ask<
    FindPaths,
    Traversal & {
      readonly source: MemoryName;
      readonly target: MemoryName;
      readonly paths: readonly (readonly string[])[];
      /** The memories on the paths. */
      readonly memories: readonly MemoryName[];
      /** The links between neighbours on the paths. */
      readonly links: readonly PathLink[];
    }
  >;
  readonly 'memory-lineage': Ask<
    MemoryLineage,
    Traversal & { readonly root: MemoryName; readonly nodes: readonly LineageNode[] }
  >;
  readonly 'list-dependents': Ask<
    ListDependents,
    Traversal & { readonly root: MemoryName; readonly dependents: readonly MemoryName[] }
  >;
}

/** How a question that walks links ended. */
export interface Traversal {
  /** Null for a complete answer. */
  readonly stopped: Stopped | null;
  /** Links that were read, and memories that were visited. */
  readonly spent: number;
}

/** A memory by name. */
export interface MemoryName {
  readonly id: string;
  readonly title: string;
  readonly namespace: string;
}

interface SeenBy {
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** The memories that can be reached from one, along links from source to target. `id` may be a prefix, as below. */
export interface WalkGraph extends SeenBy, Omit<WalkRequest, 'sourceId' | 'allowedAgents' | 'relations'> {
  readonly kind: 'walk-graph';
  readonly id: string;
  readonly allowedAgents: readonly string[] | null;
  readonly relations: readonly Relation[] | null;
}

/** The links of a memory that say since when they hold, by that time. Ended ones are among them. */
export interface GraphTimeline extends SeenBy {
  readonly kind: 'graph-timeline';
  readonly id: string;
  readonly since: Instant | null;
  readonly until: Instant | null;
  readonly believedAt: Instant | null;
  readonly limit: number;
}

/** A link as a timeline shows it. */
export interface TimelineEvent {
  readonly target_id: string;
  readonly relation: string;
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly observed_by: string | null;
  readonly title: string;
  readonly target_namespace: string;
}

/** The paths between two memories along links in either direction. */
export interface FindPaths extends SeenBy {
  readonly kind: 'find-paths';
  readonly id: string;
  readonly targetId: string;
  readonly maxDepth: number;
  readonly maxResults: number;
  readonly moment: GraphMoment;
}

export interface PathLink {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: string;
}

/** The memories that one was made from, or that were made from it. */
export interface MemoryLineage extends SeenBy {
  readonly kind: 'memory-lineage';
  readonly id: string;
  readonly direction: LineageDirection;
  readonly maxDepth: number;
  /** Follows only links of this relation; those of all provenance when absent. */
  readonly relation?: Relation;
}

/** The memories that reflect on one: what they say may no longer hold when it is superseded. */
export interface ListDependents extends SeenBy {
  readonly kind: 'list-dependents';
  readonly id: string;
}

/** Each memory's newest link; links to memories that the viewer may not see do not count. */
export interface NewestLinks {
  readonly kind: 'newest-links';
  readonly ids: readonly MemoryId[];
  readonly viewer: Viewer;
  readonly now: Instant;
}
