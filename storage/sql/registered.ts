import type { AgentId } from '../../protocol/base/meanings.js';
import type { Registry } from '../../protocol/base/viewer.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../protocol/identity/agent.js';
import type { Statements } from './statements.js';

export function isRegistered(statements: Statements, agentId: AgentId | null): boolean {
  const sql = `SELECT 1 FROM memories m WHERE m.title = ? AND m.namespace = '${AGENTS_NAMESPACE}'`;
  return agentId !== null && statements.get(sql).get(agentTitle(agentId)) !== undefined;
}

/** Whether agents are registered, each asked once. */
export function registry(statements: Statements): Registry {
  const known = new Map<AgentId | null, boolean>();
  return (agentId) => {
    const said = known.get(agentId) ?? isRegistered(statements, agentId);
    known.set(agentId, said);
    return said;
  };
}
