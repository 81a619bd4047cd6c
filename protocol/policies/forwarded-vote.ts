import { agentIdProblem, memoryIdProblem } from '../base/ids.js';
import type { VotePending } from './decide-pending.js';
import { REMEMBER, type Remember } from './vote-kind.js';

/** A vote that another node passed on to the home of the action; null for another shape. */
export function votePendingOf(sent: unknown): VotePending | null {
  const { pendingId, agentId, decision, remember } = sent as Readonly<Record<string, unknown>>;
  if (typeof pendingId !== 'string' || memoryIdProblem(pendingId) !== null) return null;
  if (typeof agentId !== 'string' || agentIdProblem(agentId) !== null) return null;
  if (decision !== 'approve' && decision !== 'deny') return null;
  if (!REMEMBER.includes(remember as Remember)) return null;
  return { kind: 'vote-pending', pendingId, agentId, decision, remember: remember as Remember };
}
