import { fail, type Result } from '../base/result.js';
import { type AnyDeclared, mayWriteOwn } from '../decide/command.js';
import type { Decision } from '../decide/deciding.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import { writesMemoriesOf } from '../memory/memory-writes.js';

/**
 * Refuses agent records that any other command would write, whatever its rules say. An agent record holds the key that
 * verifies the agent's signatures.
 */
export function guardAgentRecords<T>(
  declared: AnyDeclared,
  result: Result<Decision<T>>,
): Result<Decision<T>> {
  if (!result.ok || mayWriteOwn(declared, 'agents')) return result;
  return result.value.mutations.some((mutation) => writesMemoriesOf(mutation, AGENTS_NAMESPACE))
    ? fail('FORBIDDEN', `namespace "${AGENTS_NAMESPACE}" takes registered agents only`)
    : result;
}
