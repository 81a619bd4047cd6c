import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendRefusal } from './note-refusal.js';

/** Records that rules keep namespaces from the reads of an agent, or would. */
export interface NoteLimitedRead {
  readonly kind: 'note-limited-read';
  readonly agentId: AgentId;
  readonly operation: string;
  readonly rules: readonly string[];
  /** `advisory` where nothing was kept from it. */
  readonly mode: 'enforce' | 'advisory';
}

/** Rules that one record names. */
const RULES_NAMED_MAX = 20;

function* decideNoteLimitedRead(
  { agentId, operation, rules, mode }: NoteLimitedRead,
  context: DecisionContext,
): Deciding<object> {
  const named = rules.slice(0, RULES_NAMED_MAX);
  yield* appendRefusal(agentId, { action: operation, op: 'memory_read', rules: named, mode }, context);
  return decided({}, []);
}

export const noteLimitedReadCommand = defineCommand({
  kind: 'note-limited-read',
  decide: decideNoteLimitedRead,
  gate: 'upkeep',
});
