import type { Ask } from '../base/ask.js';
import type { AgentId } from '../base/meanings.js';
import type { AgentKeys, AgentRecord } from '../identity/agent.js';
import type { QuotaUse } from '../identity/quota.js';
import type { LeftOut } from '../memory/queries.js';

/** Queries of agents and their quotas, each with its answer. */
export interface AgentQueries {
  /** Standard base64; null when the agent is not registered or has no key. */
  readonly 'agent-key': Ask<GetAgentKey, { readonly publicKey: string | null }>;
  /** One entry for each agent that was asked about, except where its record cannot be read. */
  readonly 'agent-keys': Ask<GetAgentKeys, { readonly keys: readonly (readonly [AgentId, AgentKeys])[] }>;
  readonly 'list-agents': Ask<ListAgents, LeftOut & { readonly agents: readonly AgentRecord[] }>;
  readonly 'list-quotas': Ask<ListQuotas, { readonly uses: readonly QuotaUse[] }>;
}

/** The key that is bound to an agent. */
export interface GetAgentKey {
  readonly kind: 'agent-key';
  readonly agentId: AgentId;
}

/** The keys that are or were bound to some agents. */
export interface GetAgentKeys {
  readonly kind: 'agent-keys';
  readonly agentIds: readonly AgentId[];
}

/** Registered agents by id, after one of them. */
export interface ListAgents {
  readonly kind: 'list-agents';
  readonly after: string | null;
  readonly limit: number;
}

/** Quota rows; null means any. */
export interface ListQuotas {
  readonly kind: 'list-quotas';
  readonly holder: string | null;
  readonly namespace: string | null;
}
