import { instantAfter } from '../../../protocol/base/time.js';
import { confidenceTierOf } from '../../../protocol/memory/confidence.js';
import type { Memory, MemoryJson } from '../../../protocol/memory/memory.js';

const DAY_SECONDS = 86_400;
/** A memory that was not read for this long is stale. */
const STALE_AFTER_SECONDS = 30 * DAY_SECONDS;
/** A younger memory that was never read is fresh. */
const FRESH_FOR_SECONDS = DAY_SECONDS;

export type FreshnessState = 'fresh' | 'warm' | 'stale' | 'expired';

/** How long ago a memory was written or read, in a word (reference-mcp-cli §1.2, memory_recall). */
export function freshnessOf(memory: Memory, now: string): FreshnessState {
  if (memory.expires_at !== null && memory.expires_at <= now) return 'expired';
  const usedAt = memory.last_accessed_at ?? memory.created_at;
  if (instantAfter(usedAt, STALE_AFTER_SECONDS) < now) return 'stale';
  const young = instantAfter(memory.created_at, FRESH_FOR_SECONDS) > now;
  return young && memory.access_count === 0 ? 'fresh' : 'warm';
}

/**
 * The fields that verbose provenance adds to the score of a recalled row (interface §4.3, rule 4). They are computed at
 * the read, stored nowhere and do not affect the ranking. `linkAttestation` is the level of the row's newest link; null
 * without a link, and then the field is left out.
 */
export function provenanceOf(memory: Memory, linkAttestation: string | null, now: string): MemoryJson {
  return {
    confidence_tier: confidenceTierOf(memory.confidence),
    freshness_state: freshnessOf(memory, now),
    content_attestation: memory.metadata['attest_level'] === 'agent_attested' ? 'agent_attested' : 'claimed',
    ...(linkAttestation === null ? {} : { latest_link_attest_level: linkAttestation }),
  };
}
