import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import type { SecretOutcome } from './secret-modes.js';

/** Records that a call, or a peer, brought secrets. */
export interface NoteSecret {
  readonly kind: 'note-secret';
  readonly agentId: AgentId;
  /** The operation of the call, or the word of an operation of a peer. */
  readonly operation: string;
  readonly namespace: string | null;
  readonly outcome: SecretOutcome;
  readonly found: readonly { readonly field: string; readonly kind: string }[];
}

/** The record has the places and the kinds of the secrets, and nothing of their texts. */
function* decideNoteSecret({ agentId, operation, namespace, outcome, found }: NoteSecret): Deciding<object> {
  const payload = { operation, namespace, found: found.map(({ field, kind }) => ({ field, kind })) };
  return decided({}, [appendAudit({ event: { agentId, type: `secret.${outcome}`, payload } })]);
}

export const noteSecretCommand = defineCommand({
  kind: 'note-secret',
  decide: decideNoteSecret,
  gate: 'upkeep',
});
