import { AGENT_ID_LENGTH_MAX } from '../../../../protocol/base/limits.js';
import { RULE_SUMMARY_MAX } from '../../../../protocol/base/rule-limits.js';
import { shownGovernance } from '../../../../protocol/namespaces/policy-members.js';
import { EVERYWHERE } from '../../../../protocol/namespaces/standard-chain.js';
import type { NamespacePolicy } from '../../../../protocol/policies/queries.js';
import type { Rule } from '../../../../protocol/rules/rule-kind.js';
import { rulingViewer } from '../../../identity/caller.js';
import type { ReadCall } from '../../../pipeline/call.js';

/**
 * What governs this node, one line for each policy and each rule (reference-mcp-cli §5.4). Everybody may know of the policies
 * of `*` and of the namespace of stores that name none; of others, who set them and admins. A policy that cannot be read leaves
 * all of them out; "doctor" reports it.
 */
export async function ruleSummary({ services, caller }: ReadCall, rules: readonly Rule[]): Promise<string[]> {
  const { store, settings } = services;
  const found = await store.query({
    kind: 'list-policies',
    named: [EVERYWHERE, settings.defaultNamespace],
    limit: RULE_SUMMARY_MAX,
    viewer: rulingViewer(caller),
  });
  const { policies, count } = found.ok ? found.value : { policies: [], count: 0 };
  return [
    ...policies.map(policyLine),
    ...moreLine('policies', count - policies.length),
    ...rules.slice(0, RULE_SUMMARY_MAX).map(ruleLine),
    ...moreLine('rules', rules.length - RULE_SUMMARY_MAX),
  ];
}

const moreLine = (what: string, more: number) => (more > 0 ? [`… and ${more} more ${what}`] : []);

function policyLine({ namespace, governance }: NamespacePolicy): string {
  const policy = shownGovernance(governance) ?? {};
  const said = ['write', 'promote', 'delete', 'read', 'approver', 'inherit'].map(
    (member) => `${member}=${wordOf(policy[member])}`,
  );
  return `${namespace} — ${said.join(', ')}`;
}

/** A policy of another node may hold anything. */
function wordOf(value: unknown): string {
  const [form, ...more] = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const text = form === undefined || more.length > 0 ? JSON.stringify(value) : form.join(':');
  return text.replaceAll('"', '').slice(0, WORD_LENGTH_MAX);
}

/** An agent id with its form. */
const WORD_LENGTH_MAX = AGENT_ID_LENGTH_MAX + 16;

const ruleLine = ({ rule_id, severity, rule_kind, for_namespace }: Rule) =>
  `${rule_id} — ${severity} ${rule_kind}, namespace=${for_namespace}`;
