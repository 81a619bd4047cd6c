import { fail, type Result } from '../base/result.js';
import { type AnyCommand, type AnyDeclared, mayWriteOwn } from '../decide/command.js';
import type { Decision } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { Memory } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { addresseeOf, isMail } from '../namespaces/mail.js';

/** Writes that leave the text, its sender and its place as they are. */
const HARMLESS: ReadonlySet<string> = new Set(['life', 'promote']);

/**
 * Refuses every other write of a message or a shared copy, whatever its rule says: it would forge one, change one that
 * was sent, or move one. Both may be removed, and one that was removed comes back for its addressee alone: its sender must
 * not undo a deletion.
 */
export function guardMail<T>(
  declared: AnyDeclared,
  command: AnyCommand,
  result: Result<Decision<T>>,
): Result<Decision<T>> {
  if (!result.ok || mayWriteOwn(declared, 'mail')) return result;
  for (const mutation of result.value.mutations) {
    const namespace = writtenMail(mutation);
    if (namespace === null || bringsBack(command, mutation, namespace)) continue;
    return fail(
      'FORBIDDEN',
      `namespace "${namespace}" takes messages and shared copies only: use memory_notify or memory_share`,
    );
  }
  return result;
}

/** True for a restore by the addressee, an admin or the operator. */
function bringsBack(command: AnyCommand, mutation: Mutation, namespace: string): boolean {
  if (mutation.mutation !== 'write' || mutation.word !== 'restore' || !('viewer' in command)) return false;
  const { viewer } = command;
  return viewer !== undefined && (viewer.all || viewer.agentId === addresseeOf(namespace));
}

/** The namespace of messages or copies that a mutation writes to; null for any other mutation. */
function writtenMail(mutation: Mutation): string | null {
  if (mutation.mutation !== 'write' || mutation.kind !== memoryKind.name) return null;
  if (HARMLESS.has(mutation.word)) return null;
  const [image, before] = [mutation.image as Memory, mutation.before as Memory | null];
  if (isMail(image.namespace)) return image.namespace;
  return before !== null && isMail(before.namespace) ? before.namespace : null;
}
