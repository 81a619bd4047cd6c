import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import type { HookEvent } from './events.js';

/** Records that a hook denied a call. */
export interface NoteVeto {
  readonly kind: 'note-veto';
  readonly agentId: AgentId;
  readonly event: HookEvent;
  readonly namespace: string | null;
  readonly command: string;
  readonly code: number;
}

/** The record does not have the reason, which may quote what was refused. */
// biome-ignore lint/correctness/useYield: a rule may read; this one reads nothing.
function* decideNoteVeto({ agentId, event, namespace, command, code }: NoteVeto): Deciding<object> {
  const payload = { event, namespace, command, code };
  return decided({}, [appendAudit({ event: { agentId, type: 'hook.veto', payload } })]);
}

export const noteVetoCommand = defineCommand({
  kind: 'note-veto',
  decide: decideNoteVeto,
  gate: 'upkeep',
});
