import type { Instant } from '../base/meanings.js';
import type { Rest } from '../kinds/payload.js';

/** Relations between memories (interface §2.2). */
export const RELATIONS = [
  'related_to',
  'supersedes',
  'contradicts',
  'derived_from',
  'reflects_on',
  'derives_from',
  'decomposes_into',
  'depends_on',
  'advances',
] as const;
export type Relation = (typeof RELATIONS)[number];

/** A link with all of its columns (interface §2.2); instants canonical, `null` means unset. */
export interface Link {
  readonly source_id: string;
  readonly target_id: string;
  readonly relation: Relation;
  readonly created_at: Instant;
  readonly valid_from: string | null;
  readonly valid_until: string | null;
  /** The agent that saw the relation. */
  readonly observed_by: string | null;
  /** Standard base64. */
  readonly signature: string | null;
  readonly attest_level: string;
  readonly signed_at: string | null;
  /** The key that signed, standard base64; `null` where the signer is not known. */
  readonly public_key: string | null;
  /** When this mesh was told that the link ended; `null` for one that was not invalidated. */
  readonly retired_at: Instant | null;
  /** The `valid_until` that it had before it was invalidated. */
  readonly believed_until: string | null;
  /** Since when this mesh believed that end; `null` means since the link was made. */
  readonly believed_from: Instant | null;
  /** What this mesh was told before and the members above no longer say, the oldest first. */
  readonly earlier: readonly EarlierPeriod[];
  /** Members of its image that this release does not know. */
  readonly rest: Rest;
}

/** A period of a link that ended before the link was made again, or the end of a period that was corrected since. */
export interface EarlierPeriod {
  /** When the link of this period was made. */
  readonly created_at: Instant;
  readonly valid_from: string | null;
  readonly valid_until: string | null;
  readonly observed_by: string | null;
  /** Since when this mesh was told so, and until when it believed it; `null` for what it still believes. */
  readonly believed_from: Instant;
  readonly believed_to: Instant | null;
}

/** A link that was not ended, and has no past. */
export const UNENDED: Pick<Link, 'retired_at' | 'believed_until' | 'believed_from' | 'earlier'> = {
  ...{ retired_at: null, believed_until: null, believed_from: null, earlier: [] },
};

/** A link without its attestation. */
export const unsigned = (link: Link): Link => ({
  ...link,
  ...{ signature: null, attest_level: 'unsigned', signed_at: null, public_key: null },
});

/** The members that identify a link. */
export type LinkKey = Pick<Link, 'source_id' | 'target_id' | 'relation'>;

/** The id of a link, which is also the subject of its operations (reference-http §3.3). */
export function linkId(link: LinkKey): string {
  return `${link.source_id}|${link.target_id}|${link.relation}`;
}
