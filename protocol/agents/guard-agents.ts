import { fail, type Result } from '../base/result.js';
import type { AnyCommand } from '../decide/command.js';
import type { Decision } from '../decide/deciding.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import { writesMemoriesOf } from '../memory/memory-writes.js';

/** The commands that may write agent records. */
const AGENT_COMMANDS: ReadonlySet<string> = new Set(['register-agent', 'bind-agent-key']);

/**
 * Refuses agent records that any other command would write, whatever its rules say. An agent record holds the key that
 * verifies the agent's signatures.
 */
export function guardAgentRecords<T>(command: AnyCommand, result: Result<Decision<T>>): Result<Decision<T>> {
  if (!result.ok || AGENT_COMMANDS.has(command.kind)) return result;
  return result.value.mutations.some((mutation) => writesMemoriesOf(mutation, AGENTS_NAMESPACE))
    ? fail('FORBIDDEN', `namespace "${AGENTS_NAMESPACE}" takes registered agents only`)
    : result;
}
