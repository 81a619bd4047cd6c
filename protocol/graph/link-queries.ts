import type { Instant, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { Link, Relation } from '../links/link.js';

/** The links of a memory, in both directions, whose other end is visible; the memory's id may be a prefix. */
export interface LinksOfMemory {
  readonly kind: 'links-of-memory';
  readonly id: string;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

export interface LinksOfMemoryAnswer {
  readonly id: MemoryId;
  /** By creation, then ends and relation. */
  readonly links: readonly Link[];
  /** True when there are, or may be, more. */
  readonly truncated: boolean;
}

/** The links from a memory that these words name and whose ends are visible. */
export interface NamedLinks {
  readonly kind: 'named-links';
  readonly sourceId: MemoryId;
  /** Null takes every target. */
  readonly targetId: MemoryId | null;
  /** Null takes every relation. */
  readonly relation: Relation | null;
  readonly limit: number;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** A link, and whether its row is what was written. */
export interface StoredLink {
  readonly link: Link;
  readonly whole: boolean;
}

export interface NamedLinksAnswer {
  readonly found: readonly StoredLink[];
}
