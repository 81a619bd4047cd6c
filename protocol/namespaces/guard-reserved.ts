import { isReservedNamespace } from '../base/ids.js';
import { fail, type Result } from '../base/result.js';
import { type AnyCommand, type AnyDeclared, mayWriteOwn } from '../decide/command.js';
import type { Decision } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import type { Memory } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { isMail } from './mail.js';

/**
 * Refuses every other store or move into a namespace that begins with `_`, whatever its rule says: policies do not hold
 * there, and the service may use any such name.
 */
export function guardReserved<T>(
  declared: AnyDeclared,
  command: AnyCommand,
  result: Result<Decision<T>>,
): Result<Decision<T>> {
  if (!result.ok || mayWriteOwn(declared, 'reserved')) return result;
  for (const mutation of result.value.mutations) {
    const namespace = broughtInto(command, mutation);
    if (namespace === null) continue;
    const field = command.kind === 'promote-memory' ? 'to_namespace' : 'namespace';
    const message = `${field} "${namespace}" begins with "_", so it is the service's own: ${instead(namespace)}`;
    return fail('VALIDATION_FAILED', message, { fields: [field] });
  }
  return result;
}

/** The namespace of the service that a mutation brings a memory into; null for any other mutation. */
function broughtInto(command: AnyCommand, mutation: Mutation): string | null {
  if (mutation.mutation !== 'write' || mutation.kind !== memoryKind.name) return null;
  const { namespace } = mutation.image as Memory;
  const stays =
    (mutation.before as Memory | null)?.namespace === namespace && command.kind !== 'store-memory';
  return stays || !isReservedNamespace(namespace) ? null : namespace;
}

function instead(namespace: string): string {
  if (isMail(namespace)) return 'use memory_notify or memory_share';
  return namespace === AGENTS_NAMESPACE ? 'use memory_agent_register' : 'choose another name';
}
