import type { Ask } from '../ask.js';
import type { Instant } from '../meanings.js';
import type { Viewer } from '../ranking/types.js';

/** Queries of links, each with its answer. */
export interface GraphQueries {
  /** Memory id and level, for memories that have a link. */
  readonly 'link-attestations': Ask<
    LinkAttestations,
    { readonly levels: readonly (readonly [id: string, level: string])[] }
  >;
}

/** The attestation of each memory's newest link; links to memories that the viewer may not see do not count. */
export interface LinkAttestations {
  readonly kind: 'link-attestations';
  readonly ids: readonly string[];
  readonly viewer: Viewer;
  readonly now: Instant;
}
