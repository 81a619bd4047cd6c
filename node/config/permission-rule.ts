import { PERMISSION_OPS, type PermissionOp, type PermissionRule } from '../../protocol/decide/permissions.js';

const KEYS = new Set(['namespace_pattern', 'op', 'agent_pattern', 'decision', 'reason']);
const DECISIONS = ['allow', 'deny', 'ask'] as const;

/** The rule that a table `[[permissions.rules]]` describes, or what is wrong with it (reference-mcp-cli §4). */
export function permissionRuleOf(table: Readonly<Record<string, unknown>>): PermissionRule | string {
  const unknown = Object.keys(table).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return `has the unknown key "${unknown}"`;
  const {
    namespace_pattern: namespacePattern,
    op,
    agent_pattern: agentPattern = '*',
    decision,
    reason,
  } = table;
  if (typeof namespacePattern !== 'string' || namespacePattern === '') return 'needs a namespace_pattern';
  if (typeof agentPattern !== 'string') return 'needs a text as agent_pattern';
  if (!PERMISSION_OPS.includes(op as PermissionOp)) return `needs an op of ${PERMISSION_OPS.join(', ')}`;
  if (!DECISIONS.includes(decision as PermissionRule['decision']))
    return 'needs a decision of allow, deny or ask';
  if (reason !== undefined && typeof reason !== 'string') return 'needs a text as reason';
  return {
    namespacePattern,
    // A single star of an agent covers every agent, whose ids may hold slashes.
    agentPattern: agentPattern === '*' ? '**' : agentPattern,
    op: op as PermissionOp,
    decision: decision as PermissionRule['decision'],
    reason: reason ?? null,
  };
}
