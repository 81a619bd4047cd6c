import type { ListAgents } from '../../../protocol/agents/queries.js';
import { AGENTS_NAMESPACE, type AgentRecord, agentOf, agentTitle } from '../../../protocol/identity/agent.js';
import type { Answers } from '../../../protocol/release.js';
import { PageRows, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import type { QueryParts } from './query-parts.js';

/** The key in the record with a title, if it is an agent's record. */
const AGENT_KEY = `SELECT m.metadata ->> '$.pubkey_b64' AS key FROM memories m
  WHERE m.title = ? AND m.namespace = '${AGENTS_NAMESPACE}' AND m.conflict_of IS NULL`;

/**
 * The key that is bound to an agent, standard base64. Every signed write asks for it twice, so it reads nothing else.
 */
export function agentKey(statements: Statements, agentId: string): string | null {
  const row = statements.get(AGENT_KEY).get(agentTitle(agentId)) as { key: unknown } | undefined;
  return typeof row?.key === 'string' ? row.key : null;
}

/** Registered agents by title, which is the order of their ids. */
export function listAgents({ statements }: QueryParts, query: ListAgents): Answers['list-agents'] {
  const rows = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE m.ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace) AND m.title > @after AND m.conflict_of IS NULL
       ORDER BY m.title LIMIT @limit`,
    )
    .all({
      namespace: AGENTS_NAMESPACE,
      after: query.after === null ? '' : agentTitle(query.after),
      limit: query.limit,
    }) as SqlRow[];
  const page = new PageRows();
  for (const row of rows) page.take(row);
  return { agents: page.rows.map((row): AgentRecord => agentOf(row)), ...page.leftOut };
}
