import type { Ask } from '../base/ask.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { EntityRecord } from '../memory/aliases.js';
import type { Excepted } from './excepted.js';
import type { Governance } from './policy-members.js';

/** Queries of entities, standards and namespaces, each with its answer. */
export interface NamesQueries {
  /** Null when no entity that the viewer may see has the alias. */
  readonly 'entity-by-alias': Ask<EntityByAlias, { readonly entity: EntityRecord | null }>;
  readonly 'read-standards': Ask<
    ReadStandards,
    { readonly chain: readonly string[]; readonly standards: readonly ShownStandard[] }
  >;
  /** One for each namespace that was asked for, in order. */
  readonly 'governance-at': Ask<GovernanceAt, { readonly governance: readonly Governance[] }>;
  readonly 'attached-standards': Ask<AttachedStandards, { readonly standards: readonly AttachedStandard[] }>;
  readonly 'excepted-namespaces': Ask<
    ExceptedNamespaces,
    { readonly excepted: readonly Excepted[]; readonly truncated: boolean }
  >;
  readonly 'removed-standards': Ask<RemovedStandards, { readonly namespaces: readonly string[] }>;
  readonly 'count-namespaces': Ask<CountNamespaces, { readonly namespaces: readonly NamespaceCount[] }>;
}

/** The entity with an alias: the newest one, or in one namespace first the one with that canonical name. */
export interface EntityByAlias {
  readonly kind: 'entity-by-alias';
  readonly alias: string;
  /** Null searches all namespaces. */
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** The standard of a namespace, or with `inherit` those of its whole chain, the most general first. */
export interface ReadStandards {
  readonly kind: 'read-standards';
  readonly namespace: string;
  readonly inherit: boolean;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** What the policies of namespaces say together, for the node itself. */
export interface GovernanceAt {
  readonly kind: 'governance-at';
  readonly namespaces: readonly string[];
}

/** A standard that pins a memory or has a policy. */
export interface ShownStandard {
  readonly namespace: string;
  /** Null also for a memory that is missing, except for who set the standard. */
  readonly standard_id: MemoryId | null;
  readonly parent: string | null;
  readonly governance: Governance | null;
  readonly memory: { readonly title: string; readonly content: string; readonly priority: number } | null;
  /** True for a pinned memory that is gone or that the viewer may not see, which look alike. */
  readonly missing: boolean;
}

/** The standards that a recall in a namespace carries; without a namespace those of `*`. */
export interface AttachedStandards {
  readonly kind: 'attached-standards';
  readonly namespace: string | null;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface AttachedStandard {
  readonly namespace: string;
  readonly id: MemoryId;
  readonly title: string;
  readonly content: string;
}

/**
 * The namespaces below a standard in which not all of it counts, by name: all for an admin and the operator, for an agent those
 * whose standard it set, because the name of another may say something.
 */
export interface ExceptedNamespaces {
  readonly kind: 'excepted-namespaces';
  readonly namespace: string;
  readonly viewer: Viewer;
}

/** Namespaces whose standard pins a memory that was removed here. */
export interface RemovedStandards {
  readonly kind: 'removed-standards';
  readonly limit: number;
}

/** Namespaces with visible rows and their number: all, or those at and below a prefix. By namespace. */
export interface CountNamespaces {
  readonly kind: 'count-namespaces';
  readonly prefix: string | null;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface NamespaceCount {
  readonly namespace: string;
  readonly count: number;
}
