import type { AgentId } from './meanings.js';
import type { Within } from './within.js';

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
  /** The namespaces of the token that the caller came with: rows elsewhere do not exist for it, whatever else it may. */
  readonly within?: Within | undefined;
}

/** Whether agents are registered. */
export type Registry = (agentId: string | null) => boolean;
