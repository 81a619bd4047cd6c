import { namespaceProblem } from '../base/ids.js';
import type { AgentId } from '../base/meanings.js';

/** The root of all inboxes: a message lies in `_messages/<addressee>`. */
export const MESSAGES_ROOT = '_messages';
/** The root of shared copies: a copy lies in `_shared/<from>-><to>`. */
export const SHARED_ROOT = '_shared';

/** The tag and the source of a message (reference-mcp-cli, memory_notify). */
export const MESSAGE_TAG = '_message';
export const MESSAGE_SOURCE = 'notify';
export const SHARED_SOURCE = 'shared';

export const inboxOf = (agentId: AgentId): string => `${MESSAGES_ROOT}/${agentId}`;

/** An agent id has no `>`, so the name says which agent shares with which. */
export const sharedNamespace = (from: AgentId, to: AgentId): string => `${SHARED_ROOT}/${from}->${to}`;

/**
 * True for a namespace of messages or shared copies. Only their own commands write there, and titles there need not be
 * unique.
 */
export function isMail(namespace: string): boolean {
  const end = namespace.indexOf('/');
  const root = end === -1 ? namespace : namespace.slice(0, end);
  return root === MESSAGES_ROOT || root === SHARED_ROOT;
}

/** The agent that a namespace of messages or copies is for. */
export function addresseeOf(namespace: string): AgentId {
  const place = namespace.slice(namespace.indexOf('/') + 1);
  return namespace.startsWith(`${SHARED_ROOT}/`) ? place.slice(place.indexOf('>') + 1) : place;
}

/** Why an agent cannot be written to: its id does not make a namespace. Null when it can. */
export function addressProblem(namespace: string, agentId: AgentId): string | null {
  const problem = namespaceProblem(namespace);
  return problem === null ? null : `"${agentId}" has no namespace for messages: ${problem}`;
}
