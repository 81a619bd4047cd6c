import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendRefusal } from './note-refusal.js';

/** The families of tools whose schemas the allowlist denied to an agent. */
export interface SchemaDenial {
  readonly agentId: AgentId;
  readonly families: readonly string[];
}

/** Records that the allowlist of the node denied an agent the schemas of tools. */
export interface NoteSchemaDenial extends SchemaDenial {
  readonly kind: 'note-schema-denial';
}

function* decideNoteSchemaDenial(
  { agentId, families }: NoteSchemaDenial,
  context: DecisionContext,
): Deciding<object> {
  const details = { action: 'memory_capabilities', op: 'include_schema', families, reason: 'mcp.allowlist' };
  yield* appendRefusal(agentId, details, context);
  return decided({}, []);
}

export const noteSchemaDenialCommand = defineCommand({
  kind: 'note-schema-denial',
  decide: decideNoteSchemaDenial,
  gate: 'upkeep',
});
