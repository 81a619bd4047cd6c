import { NO_REST } from '../kinds/payload.js';
import type { Memory } from './memory.js';

type Given = Pick<Memory, 'id' | 'namespace' | 'title' | 'content' | 'source' | 'metadata'>;

/** A memory before its first write: the given fields, and the service's values for all others. */
export function newMemory(now: string, given: Given & Partial<Memory>): Memory {
  return {
    tier: 'mid',
    tags: [],
    priority: 5,
    confidence: 1,
    access_count: 0,
    created_at: now,
    updated_at: now,
    last_accessed_at: null,
    expires_at: null,
    valid_from: null,
    valid_until: null,
    conversation: null,
    turn: null,
    kind: 'observation',
    reflection_depth: 0,
    atomised_into: null,
    atom_of: null,
    entity_id: null,
    persona_version: null,
    citations: [],
    source_uri: null,
    source_span: null,
    confidence_source: 'caller_provided',
    confidence_signals: null,
    confidence_decayed_at: null,
    mentioned_entity_id: null,
    version: 1,
    write_signature: null,
    created_hlc: '',
    edited: '',
    rest: NO_REST,
    hlc: '',
    origin: '',
    origin_seq: 0,
    seen: {},
    ...given,
  };
}

/**
 * Decision: an update that changes what the author signed leaves a claimed row, because the signature no longer
 * covers the text and an unsigned write must not produce an attested one (decisions, "no side door").
 */
export function claimed(memory: Memory): Memory {
  if (memory.write_signature === null && memory.metadata['attest_level'] !== 'agent_attested') return memory;
  const { attested_by: _, ...metadata } = memory.metadata;
  return { ...memory, write_signature: null, metadata: { ...metadata, attest_level: 'claimed' } };
}
