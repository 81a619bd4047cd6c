import type { Standard } from '../../../protocol/memory/standard-kind.js';

/** One entry of `[[permissions.rules]]` (reference-federation §2.7). */
export interface PermissionRule {
  readonly namespace_pattern: string;
  readonly op: string;
  readonly decision: 'allow' | 'ask';
  readonly reason: string;
}

/** The policies of namespaces as permission rules, and the parts that such rules cannot say. */
export interface PolicyTranslation {
  readonly rules: readonly PermissionRule[];
  readonly left: readonly string[];
}

const OPS: Readonly<Record<string, string | null>> = {
  write: 'memory_store',
  delete: 'memory_delete',
  // No operation of permissions is a promotion.
  promote: null,
  // A permission rule about reads knows no registered agents and no owner.
  read: null,
};

const DECISIONS: Readonly<Record<string, 'allow' | 'ask'>> = { any: 'allow', approve: 'ask' };

/** Says of a policy what permission rules can say: `any` and `approve` of writes and deletions. */
export function policiesAsPermissions(standards: readonly Standard[]): PolicyTranslation {
  const rules: PermissionRule[] = [];
  const left: string[] = [];
  for (const { namespace, governance } of standards) {
    if (governance === null) continue;
    const patterns =
      namespace === '*'
        ? ['**']
        : governance['inherit'] === false
          ? [namespace]
          : [namespace, `${namespace}/**`];
    for (const [member, op] of Object.entries(OPS)) {
      if (governance[member] === undefined) continue;
      const level = String(governance[member]);
      const decision = DECISIONS[level];
      const reason = `policy of ${namespace}: ${member} = ${level}`;
      if (op === null || decision === undefined) left.push(reason);
      else rules.push(...patterns.map((namespace_pattern) => ({ namespace_pattern, op, decision, reason })));
    }
  }
  return { rules, left };
}

/** The rules that a configuration does not have yet. */
export function missingRules(
  rules: readonly PermissionRule[],
  config: Readonly<Record<string, unknown>>,
): PermissionRule[] {
  const { rules: stored } = (config['permissions'] ?? {}) as { readonly rules?: unknown };
  const there = (Array.isArray(stored) ? stored : []) as readonly Record<string, unknown>[];
  return rules.filter(
    ({ namespace_pattern, op, decision }) =>
      !there.some(
        (rule) =>
          rule['namespace_pattern'] === namespace_pattern &&
          rule['op'] === op &&
          rule['decision'] === decision &&
          (rule['agent_pattern'] ?? '*') === '*',
      ),
  );
}

/** The translation as TOML; what cannot be said stands in comments. */
export function permissionsToml({ rules, left }: PolicyTranslation): string {
  const blocks = rules.map(({ namespace_pattern, op, decision, reason }) =>
    [
      '[[permissions.rules]]',
      // A JSON text is a basic string of TOML.
      `namespace_pattern = ${JSON.stringify(namespace_pattern)}`,
      `op = "${op}"`,
      `decision = "${decision}"`,
      `reason = ${JSON.stringify(reason)}`,
      '',
    ].join('\n'),
  );
  // A policy of a peer may hold any text, and a line break would end the comment.
  const comments = left.map(
    (text) => `# has no permission rule, stays a policy: ${JSON.stringify(text).slice(1, -1)}\n`,
  );
  if (blocks.length + comments.length === 0) return '# no namespace has a policy\n';
  return [...blocks, ...comments].join('\n');
}
