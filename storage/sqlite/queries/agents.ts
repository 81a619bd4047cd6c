import {
  AGENTS_NAMESPACE,
  type AgentKeys,
  type AgentRecord,
  agentKeysOf,
  agentOf,
  agentTitle,
} from '../../../protocol/agents/agent.js';
import type { ListAgents } from '../../../protocol/agents/queries.js';
import { memoryKind } from '../../../protocol/kinds/memory-kind.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import { AGENT_KEYS_KEPT_MAX } from '../../../protocol/limits.js';
import type { AgentId } from '../../../protocol/meanings.js';
import type { Answers } from '../../../protocol/queries.js';
import { isDigest } from '../digests.js';
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

/** The digest over all records of agents: it changes with each of them, whoever writes it. */
const AGENTS_DIGEST = `SELECT digest FROM namespace_digests
  WHERE kind = '${memoryKind.name}' AND namespace = '${AGENTS_NAMESPACE}'`;

const AGENT_METADATA = `SELECT m.metadata AS text FROM memories m
  WHERE m.title = ? AND m.namespace = '${AGENTS_NAMESPACE}' AND m.conflict_of IS NULL`;

const NO_DIGEST = new Uint8Array();
const NO_KEYS: AgentKeys = { bound: null, earlier: [] };

/** The keys of agents, kept until a record of an agent changes. An agent whose record cannot be read is left out. */
export class KeptAgentKeys {
  readonly #kept = new Map<AgentId, AgentKeys>();
  #digest: Uint8Array = NO_DIGEST;

  of(statements: Statements, agentIds: readonly AgentId[]): (readonly [AgentId, AgentKeys])[] {
    // The digest is read first, so that a change between the two reads is seen at the next question.
    const row = statements.get(AGENTS_DIGEST).get() as { digest: Uint8Array } | undefined;
    const digest = row?.digest ?? NO_DIGEST;
    if (!isDigest(digest, this.#digest) || this.#kept.size > AGENT_KEYS_KEPT_MAX) {
      this.#digest = digest;
      this.#kept.clear();
    }
    return agentIds.flatMap((agentId) => {
      const keys = this.#kept.get(agentId) ?? readAgentKeys(statements, agentId);
      if (keys === null) return [];
      this.#kept.set(agentId, keys);
      return [[agentId, keys]];
    });
  }
}

/** The keys in the record of an agent; null for a record that cannot be read. */
function readAgentKeys(statements: Statements, agentId: AgentId): AgentKeys | null {
  const row = statements.get(AGENT_METADATA).get(agentTitle(agentId)) as { text: unknown } | undefined;
  if (row === undefined) return NO_KEYS;
  const metadata = typeof row.text === 'string' ? parsedObject(row.text) : null;
  return metadata === null ? null : agentKeysOf(metadata);
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
