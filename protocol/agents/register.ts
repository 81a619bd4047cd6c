import type { BindAgentKey, Command, Outcomes, RegisterAgent, SignedEnvelope } from '../commands.js';
import { type Deciding, type Decision, type DecisionContext, decided } from '../decide/deciding.js';
import { memoryById, memoryByTitle, type ReadRequest, read } from '../decide/reads.js';
import { type Memory, ownerOf } from '../memory/memory.js';
import { insertMemory, replaceMemory, writesMemoriesOf } from '../memory/memory-writes.js';
import { type Failure, fail, type Result } from '../result.js';
import { AGENTS_NAMESPACE, agentOf, agentTitle } from './agent.js';

/** The commands that may write agent records. */
const AGENT_COMMANDS: ReadonlySet<Command['kind']> = new Set(['register-agent', 'bind-agent-key']);

/**
 * Refuses what any other command would write among the agent records, whatever its rules say: a record holds the key
 * that an agent's signatures are judged by.
 */
export function guardAgentRecords<T>(command: Command, result: Result<Decision<T>>): Result<Decision<T>> {
  if (!result.ok || AGENT_COMMANDS.has(command.kind)) return result;
  return result.value.mutations.some((mutation) => writesMemoriesOf(mutation, AGENTS_NAMESPACE))
    ? fail('FORBIDDEN', `namespace "${AGENTS_NAMESPACE}" takes registered agents only`)
    : result;
}

/**
 * Registers an agent; a known one keeps `registered_at` and its key and is refreshed. FORBIDDEN for anybody but the
 * agent itself and admins (decisions, "key binding").
 */
export function* decideRegisterAgent(
  command: RegisterAgent,
  context: DecisionContext,
): Deciding<Outcomes['register-agent']> {
  const { memory, viewer, admin } = command;
  const known = yield* memoryByTitle(memory.title, memory.namespace);
  const self = ownerOf(memory);
  if (!(admin || viewer.all || viewer.agentId === self)) {
    return fail('FORBIDDEN', 'an agent is registered by itself or by an admin');
  }
  if (known === null) {
    // The id follows from the agent's, so anybody can work it out, and an import may have brought it along.
    const squatter = yield* memoryById(memory.id);
    const record = squatter === null ? memory : { ...memory, id: command.spareId };
    return decided({ agent: agentOf(record), id: record.id, created: true }, [
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
    replaceMemory(known, refreshed, { reembed: known.content !== refreshed.content }),
    audit(viewer.agentId ?? self ?? '', 'agent.refreshed', refreshed),
  ]);
}

/** Binds or revokes the key of a registered agent: NOT_FOUND before its registration. */
export function* decideBindAgentKey(
  command: BindAgentKey,
  context: DecisionContext,
): Deciding<Outcomes['bind-agent-key']> {
  const known = yield* memoryByTitle(agentTitle(command.agentId), AGENTS_NAMESPACE);
  if (known === null) return fail('NOT_FOUND', 'agent is not registered');
  const { pubkey_b64: before, pubkey_bound_at: _at, ...metadata } = known.metadata;
  if (before === (command.publicKey ?? undefined)) return decided({ agent: agentOf(known) }, []);
  const bound =
    command.publicKey === null ? {} : { pubkey_b64: command.publicKey, pubkey_bound_at: context.now };
  const memory: Memory = {
    ...known,
    metadata: { ...metadata, ...bound },
    updated_at: context.now,
    version: known.version + 1,
  };
  const type = command.publicKey === null ? 'agent.key_revoked' : 'agent.key_bound';
  return decided({ agent: agentOf(memory) }, [
    replaceMemory(known, memory, { reembed: false }),
    audit(command.by, type, memory),
  ]);
}

function audit(by: string, type: string, memory: Memory) {
  const { agent_id, agent_type, pubkey_b64 } = agentOf(memory);
  const payload = { agent_id, agent_type, ...(pubkey_b64 === undefined ? {} : { pubkey_b64 }) };
  return { mutation: 'append-audit', event: { agentId: by, type, payload } } as const;
}

/**
 * What stands against a verified envelope inside the write transaction: it was used before (ATTESTATION_REPLAYED), or
 * its key is no longer the agent's (ATTESTATION_FAILED).
 */
export function* envelopeProblem(envelope: SignedEnvelope): Generator<ReadRequest, Failure | null, never> {
  const memoryId = yield* read('used-envelope', { fingerprint: envelope.fingerprint });
  if (memoryId !== null) {
    return {
      code: 'ATTESTATION_REPLAYED',
      message: 'this signed write was accepted before; sign it again with a new created_at',
      details: { existing_id: memoryId },
    };
  }
  if ((yield* read('agent-key', { agentId: envelope.agentId })) === envelope.publicKey) return null;
  return { code: 'ATTESTATION_FAILED', message: 'the signing key is not bound to this agent' };
}
