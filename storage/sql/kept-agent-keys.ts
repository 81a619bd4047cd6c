import { AGENT_KEYS_KEPT_MAX } from '../../protocol/base/limits.js';
import type { AgentId } from '../../protocol/base/meanings.js';
import { AGENTS_NAMESPACE, type AgentKeys, agentKeysOf, agentTitle } from '../../protocol/identity/agent.js';
import { parsedObject } from '../../protocol/kinds/payload.js';
import { memoryKind } from '../../protocol/memory/memory-kind.js';
import { isDigest } from './digests.js';
import type { Statements } from './statements.js';

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
