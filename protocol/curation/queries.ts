import type { Ask } from '../base/ask.js';
import type { Instant, MemoryId } from '../base/meanings.js';

/** Queries of the curator, each with its answer. They see the rows of all agents. */
export interface CurationQueries {
  readonly 'curation-plan': Ask<AskCurationPlan, CurationPlan>;
  readonly 'reflection-clusters': Ask<AskReflectionClusters, ReflectionClusters>;
}

/** Which namespaces are curated: exact names, or subtrees (`team/**`). */
export interface CuratedNamespaces {
  /** Empty for all that are not the service's own. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** What there is to do for the curator. */
export interface AskCurationPlan extends CuratedNamespaces {
  readonly kind: 'curation-plan';
  /** Memories without tags of a model that are named at most. */
  readonly untaggedMax: number;
  /** Memories of the middle and of the long tier that are looked at. */
  readonly rowsPerTier: number;
  readonly now: Instant;
}

export interface CurationPlan {
  readonly scanned: number;
  readonly eligible: number;
  /** Those that no model has tagged, each with the memory of its audience that is most like it. */
  readonly untagged: readonly { readonly id: MemoryId; readonly adjacent: MemoryId | null }[];
  readonly clusters: readonly (readonly MemoryId[])[];
  readonly raised: readonly MemoryId[];
  readonly lowered: readonly MemoryId[];
}

/** Memories that a reflection may be written about. */
export interface AskReflectionClusters extends CuratedNamespaces {
  readonly kind: 'reflection-clusters';
  /** Depth of a reflection at most. */
  readonly maxDepth: number;
  readonly rows: number;
  readonly clustersMax: number;
  readonly now: Instant;
}

export interface ReflectionClusters {
  readonly scanned: number;
  readonly eligible: number;
  readonly clusters: readonly (readonly MemoryId[])[];
}
