import { AGENTS_NAMESPACE } from '../agents/agent.js';
import type { Command } from '../commands.js';
import { writesMemoriesOf } from '../memory/memory-writes.js';
import { fail, type Result } from '../result.js';
import type { Decision } from './deciding.js';

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
