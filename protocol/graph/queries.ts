import type { Ask } from '../ask.js';
import type { Instant, MemoryId } from '../meanings.js';
import type { Viewer } from '../ranking/types.js';
import type { Link } from './link.js';
import type { LinksOfMemory, LinksOfMemoryAnswer, NamedLinks, NamedLinksAnswer } from './link-queries.js';

/** Queries of links, each with its answer. */
export interface GraphQueries {
  readonly 'links-of-memory': Ask<LinksOfMemory, LinksOfMemoryAnswer>;
  readonly 'named-links': Ask<NamedLinks, NamedLinksAnswer>;
  /** Memory id and newest link, for memories that have a link. */
  readonly 'newest-links': Ask<
    NewestLinks,
    { readonly newest: readonly (readonly [id: MemoryId, link: Link])[] }
  >;
}

/** Each memory's newest link; links to memories that the viewer may not see do not count. */
export interface NewestLinks {
  readonly kind: 'newest-links';
  readonly ids: readonly MemoryId[];
  readonly viewer: Viewer;
  readonly now: Instant;
}
