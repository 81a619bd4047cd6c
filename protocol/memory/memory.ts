import type { Hlc, Instant, MemoryId, Origin } from '../base/meanings.js';
import { canonicalInstant } from '../base/time.js';
import type { VersionVector } from '../base/version-vector.js';
import type { Rest } from '../kinds/payload.js';

/** Tiers in rising order; a memory never moves down (interface §2.1). */
export const TIERS = ['short', 'mid', 'long'] as const;
export type Tier = (typeof TIERS)[number];

export const KINDS = [
  'observation',
  'reflection',
  'persona',
  'concept',
  'entity',
  'claim',
  'relation',
  'event',
  'conversation',
  'decision',
] as const;
export type Kind = (typeof KINDS)[number];

export const SCOPES = ['private', 'team', 'unit', 'org', 'collective'] as const;

/** `metadata.attest_level`: an unsigned write, or one with a valid signature (interface §2.1). */
export type AttestLevel = 'claimed' | 'agent_attested';

/** Metadata keys that no client may change by replacing the metadata object (interface §2.1). */
export const PRESERVED_METADATA_KEYS = [
  'agent_id',
  'scope',
  'attest_level',
  'attested_by',
  'imported_from_agent_id',
] as const;

/** Metadata keys that name the agent a message is for. */
export const ADDRESSEE_KEYS = ['target_agent_id', 'recipient_agent_id'] as const;

export interface Citation {
  readonly uri: string;
  readonly accessed_at: string;
  readonly hash?: string | undefined;
  readonly span?: { readonly start: number; readonly end: number } | undefined;
}

/** The author's detached signature over the write envelope, kept so that any node can verify it again. */
export interface WriteSignature {
  /** Standard base64 of 64 bytes. */
  readonly signature: string;
  /** The signed `created_at`, verbatim. */
  readonly created_at: Instant;
  /** Standard base64 of the 32-byte key that verifies it. */
  readonly public_key: string;
}

/**
 * A memory as the decisions see it: every field of interface §2.1, canonical instants, and the stamps by which replicas
 * merge. `null` means unset.
 */
export interface Memory {
  readonly id: MemoryId;
  readonly tier: Tier;
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly confidence: number;
  readonly source: string;
  readonly access_count: number;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly last_accessed_at: Instant | null;
  readonly expires_at: Instant | null;
  /** Since when what it says holds; null for as long as anybody knows. */
  readonly valid_from: Instant | null;
  /** Until when what it says holds, the instant itself left out; null while it holds. */
  readonly valid_until: Instant | null;
  /** The conversation that it is a part of, and its place there (`Spoken`). */
  readonly conversation: string | null;
  readonly turn: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kind: Kind;
  readonly reflection_depth: number;
  readonly atomised_into: number | null;
  readonly atom_of: MemoryId | null;
  readonly entity_id: string | null;
  readonly persona_version: number | null;
  readonly citations: readonly Citation[];
  readonly source_uri: string | null;
  readonly source_span: { readonly start: number; readonly end: number } | null;
  readonly confidence_source: string;
  readonly confidence_signals: Readonly<Record<string, unknown>> | null;
  readonly confidence_decayed_at: Instant | null;
  readonly mentioned_entity_id: string | null;
  readonly version: number;
  readonly write_signature: WriteSignature | null;
  /** Stamp of the write that created the row; never changes. */
  readonly created_hlc: string;
  /** Stamp of the last edit; reads and promotions do not change it (`editStamp` in kinds/version.ts). */
  readonly edited: string;
  /** Members of its image that this release does not know. */
  readonly rest: Rest;
  /** Stamp and origin (`<peer_id>/<db_epoch>`, sequence) of the last replicated write. */
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: VersionVector;
}

/** A memory in its row, with its row number in this database's indexes and its local members. */
export interface MemoryRow extends Memory {
  /** Row number in this database; the full-text and vector indexes point at it. */
  readonly rid: number;
  /** When a read last moved its expiry or tier. */
  readonly life_at: Instant | null;
}

/** A memory as clients see it: unset fields are left out, stamps and signatures are not shown. */
export type MemoryJson = Record<string, unknown>;

/** Renders a memory for any surface (interface §2.1: unset instants are omitted, never null). */
export function memoryJson(memory: Memory): MemoryJson {
  const json: MemoryJson = {
    id: memory.id,
    tier: memory.tier,
    namespace: memory.namespace,
    title: memory.title,
    content: memory.content,
    tags: memory.tags,
    priority: memory.priority,
    confidence: memory.confidence,
    source: memory.source,
    access_count: memory.access_count,
    created_at: shownCreation(memory),
    updated_at: memory.updated_at,
  };
  if (memory.last_accessed_at !== null) json['last_accessed_at'] = memory.last_accessed_at;
  if (memory.expires_at !== null) json['expires_at'] = memory.expires_at;
  json['metadata'] = memory.metadata;
  json['kind'] = memory.kind;
  json['reflection_depth'] = memory.reflection_depth;
  json['citations'] = memory.citations;
  json['confidence_source'] = memory.confidence_source;
  json['version'] = memory.version;
  for (const key of OPTIONAL_KEYS) {
    if (memory[key] !== null) json[key] = memory[key];
  }
  return json;
}

/**
 * A signed creation shows the instant that its author signed; the later signature of a merge dates the text, not the
 * row.
 */
function shownCreation({ created_at, write_signature }: Memory): string {
  if (write_signature === null) return created_at;
  return canonicalInstant(write_signature.created_at) === created_at
    ? write_signature.created_at
    : created_at;
}

const OPTIONAL_KEYS = [
  'valid_from',
  'valid_until',
  'conversation',
  'turn',
  'source_uri',
  'source_span',
  'entity_id',
  'persona_version',
  'mentioned_entity_id',
  'atomised_into',
  'atom_of',
  'confidence_signals',
  'confidence_decayed_at',
] as const;

/** The higher of two tiers. */
export function higherTier(a: Tier, b: Tier): Tier {
  return TIERS.indexOf(a) >= TIERS.indexOf(b) ? a : b;
}
