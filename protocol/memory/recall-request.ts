import type { Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { HalfLives } from '../ranking/weights.js';
import type { ConfidenceTier } from './confidence.js';
import type { Tier } from './memory.js';

/** The data that the parts of recall exchange: the request as a reader gets it, and the evidence of the two indexes. */

/**
 * The best rows of the vector index for one query vector, in the namespaces of the request and visible to its owners.
 */
export interface VectorEvidence {
  /** Query embedding, unit length, float32. */
  readonly queryVector: Float32Array;
  /** Highest cosine first; one entry for each memory (its best chunk). */
  readonly hits: readonly { readonly rid: number; readonly cosine: number }[];
  /** Mean and standard deviation of the cosine over all scanned rows. */
  readonly mean: number;
  readonly deviation: number;
  /** Rows scanned. */
  readonly scanned: number;
  /** What is known of the encoder. */
  readonly unrelated?: UnrelatedTexts;
}

/** Cosines of texts that have nothing to do with each other, and how many scanned rows that knowledge counts as. */
export interface UnrelatedTexts {
  readonly mean: number;
  readonly deviation: number;
  readonly rows: number;
}

/**
 * The rows that a recall may return, among those that the viewer may see. Instants are canonical UTC text; absent or
 * null fields do not filter.
 */
export interface RecallFilter {
  /** A row matches with any of these tags. */
  readonly tags: readonly string[];
  /** Bounds on created_at. */
  readonly since: Instant | null;
  readonly until: Instant | null;
  /** Unknown kinds match nothing. */
  readonly kinds: readonly string[] | null;
  readonly tier?: Tier | null;
  /** True keeps only rows with citations. */
  readonly hasCitations?: boolean;
  readonly sourceUriPrefix?: string | null;
  readonly confidence?: ConfidenceTier | null;
  /** True also shows rows that were atomised (`atomised_into` is set). */
  readonly includeArchived?: boolean;
  /** Only what holds at this instant; null and absent rank what does not hold now lower. */
  readonly asOf?: Instant | null;
}

/** A recall, parsed. */
export interface RecallRequest extends RecallFilter {
  readonly query: string;
  /** The namespace and its ancestors are searched; null searches everything. */
  readonly namespace: string | null;
  readonly limit: number;
  /** Rows with a lower score are dropped; absent for none. */
  readonly minScore?: number;
  /** Cuts by the score that belongs to the weights, and marks the nearest rows as weak where none passes. */
  readonly cut?: 'default';
  /** True also answers the rows below the cut: a reranker orders them before they are dropped. */
  readonly below?: boolean;
  /** Rows that the caller's session has already recalled; they get a small boost. */
  readonly recalled?: readonly number[];
  /** Days after which recency halves, by tier; `none` ranks without recency; absent for the default. */
  readonly recency?: HalfLives | 'none';
  readonly viewer: Viewer;
  /** The instant of the call: expired rows are hidden, recency is measured from here. */
  readonly now: Instant;
  /** Absent when the embedder is off, failing or too busy: then the mode is keyword. */
  readonly vectors: VectorEvidence | null;
}

/** A ranked row. */
export interface RankedRow {
  readonly rid: number;
  /** How likely the row answers the query, 0 to 1; descending. */
  readonly score: number;
  readonly foundBy: FoundBy;
  readonly cut: RowCut;
}

/** How a place of an answer stands to the cut; a weak row did not pass it and came all the same, because none did. */
export type RowCut = 'passes' | 'weak' | 'below';

/** What a row has of a query: its words, its meaning, both, or neither but neighbours that do. */
export type FoundBy = 'words' | 'meaning' | 'both' | 'neighbours';
