import type { AgentId } from '../base/meanings.js';

/** Agents are memories of this namespace, so they replicate like all other memories (reference-http §8). */
export const AGENTS_NAMESPACE = '_agents';

/** The title of an agent's record; (title, namespace) is unique, so an agent has one. */
export const agentTitle = (agentId: string): string => `agent:${agentId}`;

/** An agent record (interface §2.4). */
export interface AgentRecord {
  readonly agent_id: AgentId;
  readonly agent_type: string;
  readonly capabilities: readonly string[];
  readonly registered_at: string;
  readonly last_seen_at: string;
  /** Standard base64 of the bound 32-byte Ed25519 key. */
  readonly pubkey_b64?: string;
  readonly pubkey_bound_at?: string;
}

/** The keys whose signatures count as an agent's; standard base64. */
export interface AgentKeys {
  /** Null for an agent without a key. */
  readonly bound: string | null;
  /** Keys that were bound before, the newest last. */
  readonly earlier: readonly string[];
}

/** Reads the keys out of the metadata of an agent's record; peers write it too, so it may hold anything. */
export function agentKeysOf(metadata: Readonly<Record<string, unknown>>): AgentKeys {
  const { pubkey_b64: bound, pubkeys_before: earlier } = metadata;
  return {
    bound: typeof bound === 'string' ? bound : null,
    earlier: Array.isArray(earlier) ? earlier.filter((key) => typeof key === 'string') : [],
  };
}

/** Reads the record out of its memory. */
export function agentOf(memory: {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly updated_at: string;
}): AgentRecord {
  const { metadata } = memory;
  const text = (key: string) => (typeof metadata[key] === 'string' ? (metadata[key] as string) : '');
  const key = metadata['pubkey_b64'];
  const boundAt = metadata['pubkey_bound_at'];
  return {
    agent_id: text('agent_id'),
    agent_type: text('agent_type'),
    capabilities: Array.isArray(metadata['capabilities']) ? (metadata['capabilities'] as string[]) : [],
    registered_at: text('registered_at') || memory.created_at,
    last_seen_at: text('last_seen_at') || memory.updated_at,
    ...(typeof key === 'string' ? { pubkey_b64: key } : {}),
    ...(typeof key === 'string' && typeof boundAt === 'string' ? { pubkey_bound_at: boundAt } : {}),
  };
}

/** Human, system, or `ai:<name>` (interface §2.4). */
export const AGENT_TYPE = /^(?:human|system|ai:[A-Za-z0-9_.-]{1,61})$/;
