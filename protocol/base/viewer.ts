import type { AgentId } from './meanings.js';

/** The caller; decides which rows exist for it (decisions, "visibility"). */
export interface Viewer {
  /** Sees everything: admin routes, and MCP without SVC_AGENT_ID. */
  readonly all: boolean;
  /** The caller's agent id. */
  readonly agentId: AgentId | null;
  /** The caller's namespace position (`as_agent`) for the scopes team, unit and org. */
  readonly asNamespace: string | null;
  /** Regular expressions of namespaces that rules keep from it; absent for one that no rule limits. */
  readonly withheld?: readonly string[];
}

/** Whether agents are registered. */
export type Registry = (agentId: string | null) => boolean;
