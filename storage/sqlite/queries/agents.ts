import { AGENTS_NAMESPACE, type AgentRecord, agentOf, agentTitle } from '../../../protocol/agent.js';
import type { Answers, GetAgent, ListAgents } from '../../../protocol/queries.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';

/** The record of one agent. */
export function getAgent(statements: Statements, query: GetAgent): Answers['get-agent'] {
  const row = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.title = @title AND m.namespace = @namespace AND m.conflict_of IS NULL`,
    )
    .get({ title: agentTitle(query.agentId), namespace: AGENTS_NAMESPACE }) as SqlRow | undefined;
  return { agent: row === undefined ? null : agentOf(memoryFromSql(row)) };
}

/** Registered agents, by title, which is by id. */
export function listAgents(statements: Statements, query: ListAgents): Answers['list-agents'] {
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
  return { agents: rows.map((row): AgentRecord => agentOf(memoryFromSql(row))) };
}
