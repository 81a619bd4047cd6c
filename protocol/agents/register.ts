import { AGENT_KEYS_BEFORE_MAX, LAST_SEEN_INTERVAL_SECONDS } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import { instantAfter } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { AGENTS_NAMESPACE, type AgentRecord, agentKeysOf, agentOf, agentTitle } from '../identity/agent.js';
import { chargeRegistration } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { memoryById, memoryByTitle } from '../memory/reads.js';

/** Registers an agent, or refreshes its record (interface §2.4). */
export interface RegisterAgent {
  readonly kind: 'register-agent';
  /** The record as a complete memory, without stamps; its id is used when the agent is new. */
  readonly memory: Memory;
  /** The id of the record when another memory already has the first id. */
  readonly spareId: string;
  readonly viewer: Viewer;
  readonly admin: boolean;
}

/** What `register-agent` answers. */
export interface RegisterAgentOutcome {
  readonly agent: AgentRecord;
  readonly id: string;
  readonly created: boolean;
}

/** Binds a key to a registered agent, or removes it (interface §4.9). */
export interface BindAgentKey {
  readonly kind: 'bind-agent-key';
  readonly agentId: AgentId;
  /** Standard base64 of an admitted key; null revokes. */
  readonly publicKey: string | null;
  /** Who requested it, for the audit chain. */
  readonly by: string;
}

/** What `bind-agent-key` answers. */
export interface BindAgentKeyOutcome {
  readonly agent: AgentRecord;
}

/**
 * Registers an agent. A known agent keeps `registered_at` and its key, and its record is refreshed. FORBIDDEN for every
 * caller except the agent itself and admins (decisions, "key binding"). A new or changed record counts for the node's
 * registrations of the day; one that is as it was only shows, at most once an hour, that the agent was there.
 */
function* decideRegisterAgent(
  command: RegisterAgent,
  context: DecisionContext,
): Deciding<RegisterAgentOutcome> {
  const { memory, viewer, admin } = command;
  const known = yield* memoryByTitle(memory.title, memory.namespace);
  const self = ownerOf(memory);
  if (!(admin || viewer.all || viewer.agentId === self)) {
    return fail('FORBIDDEN', 'only the agent itself or an admin may register an agent');
  }
  if (known !== null && isRegistered(known, memory)) return seenAgain(known, context);
  const charge = yield* chargeRegistration(context);
  if (!charge.ok) return failed(charge.error);
  if (known === null) {
    // The id is derived from the agent's id, so any caller can compute it, and an import may have used it.
    const squatter = yield* memoryById(memory.id);
    const record = squatter === null ? memory : { ...memory, id: command.spareId };
    return decided({ agent: agentOf(record), id: record.id, created: true }, [
      charge.value,
      insertMemory(record),
      audit(viewer.agentId ?? self ?? '', 'agent.registered', record),
    ]);
  }
  const refreshed: Memory = {
    ...known,
    content: memory.content,
    metadata: {
      ...known.metadata,
      agent_type: memory.metadata['agent_type'],
      capabilities: memory.metadata['capabilities'],
      last_seen_at: context.now,
    },
    updated_at: context.now,
    version: known.version + 1,
  };
  return decided({ agent: agentOf(refreshed), id: known.id, created: false }, [
    charge.value,
    replaceMemory(known, refreshed, { reembed: known.content !== refreshed.content }),
    audit(viewer.agentId ?? self ?? '', 'agent.refreshed', refreshed),
  ]);
}

/** True when the stored record already says what this registration says. */
function isRegistered(known: Memory, memory: Memory): boolean {
  const said = ({ content, metadata: { agent_type, capabilities } }: Memory) =>
    JSON.stringify([content, agent_type, capabilities]);
  return said(known) === said(memory);
}

function seenAgain(known: MemoryRow, { now }: DecisionContext) {
  const { last_seen_at: seenAt } = agentOf(known);
  const refreshed: Memory = {
    ...known,
    metadata: { ...known.metadata, last_seen_at: now },
    updated_at: now,
    version: known.version + 1,
  };
  // A date after now is that of a node whose clock is ahead.
  const recently = seenAt <= now && seenAt > instantAfter(now, -LAST_SEEN_INTERVAL_SECONDS);
  return decided(
    { agent: agentOf(recently ? known : refreshed), id: known.id, created: false },
    recently ? [] : [replaceMemory(known, refreshed, { reembed: false })],
  );
}

/** Binds or revokes the key of a registered agent: NOT_FOUND before its registration. */
function* decideBindAgentKey(command: BindAgentKey, context: DecisionContext): Deciding<BindAgentKeyOutcome> {
  const known = yield* memoryByTitle(agentTitle(command.agentId), AGENTS_NAMESPACE);
  if (known === null) return fail('NOT_FOUND', 'agent is not registered');
  const { pubkey_b64: _key, pubkey_bound_at: _at, pubkeys_before: _before, ...metadata } = known.metadata;
  const keys = agentKeysOf(known.metadata);
  if (keys.bound === command.publicKey) return decided({ agent: agentOf(known) }, []);
  const bound =
    command.publicKey === null ? {} : { pubkey_b64: command.publicKey, pubkey_bound_at: context.now };
  const earlier = keys.bound === null ? keys.earlier : withNewest(keys.earlier, keys.bound);
  const memory: Memory = {
    ...known,
    metadata: { ...metadata, ...bound, ...(earlier.length === 0 ? {} : { pubkeys_before: earlier }) },
    updated_at: context.now,
    version: known.version + 1,
  };
  const type = command.publicKey === null ? 'agent.key_revoked' : 'agent.key_bound';
  return decided({ agent: agentOf(memory) }, [
    replaceMemory(known, memory, { reembed: false }),
    audit(command.by, type, memory),
  ]);
}

/** Earlier keys with one more; the oldest leaves when there are too many. */
function withNewest(earlier: readonly string[], key: string): readonly string[] {
  return [...earlier.filter((known) => known !== key), key].slice(-AGENT_KEYS_BEFORE_MAX);
}

function audit(by: string, type: string, memory: Memory) {
  const { agent_id, agent_type, pubkey_b64 } = agentOf(memory);
  const payload = { agent_id, agent_type, ...(pubkey_b64 === undefined ? {} : { pubkey_b64 }) };
  return appendAudit({ event: { agentId: by, type, payload } });
}

export const registerAgentCommand = defineCommand({
  kind: 'register-agent',
  decide: decideRegisterAgent,
  gate: 'no memory',
  writes: ['agents', 'reserved'],
});

export const bindAgentKeyCommand = defineCommand({
  kind: 'bind-agent-key',
  decide: decideBindAgentKey,
  gate: 'no memory',
  writes: ['agents'],
});
