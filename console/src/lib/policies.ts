import { valueText } from './format.js';

/** A namespace of the chain, with the policy that was set there. */
export interface PolicyLevel {
  readonly namespace: string;
  readonly governance?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface PolicyRow {
  readonly member: string;
  readonly value: unknown;
  /** Null where no policy says it. */
  readonly from: string | null;
}

const MEMBERS = ['write', 'promote', 'delete', 'read', 'approver'] as const;
const DEFAULTS: Readonly<Record<string, unknown>> = {
  write: 'any',
  promote: 'any',
  delete: 'owner',
  read: 'any',
  approver: 'human',
};

/**
 * What holds in the last namespace of a chain: the nearest policy that says a member decides it. A policy with `inherit` false
 * hides those above it.
 */
export function policyIn(levels: readonly PolicyLevel[]): readonly PolicyRow[] {
  const cut = levels.findLastIndex(({ governance }) => governance?.['inherit'] === false);
  const counted = levels.slice(Math.max(0, cut));
  return MEMBERS.map((member) => {
    const level = counted.findLast(({ governance }) => governance?.[member] !== undefined);
    return level === undefined
      ? { member, value: DEFAULTS[member], from: null }
      : { member, value: level.governance?.[member], from: level.namespace };
  });
}

const GATES: Readonly<Record<string, string>> = {
  any: 'every agent that sees the memory',
  registered: 'registered agents',
  owner: 'the owner',
  approve: 'everybody, after an approval',
};

/** What a member of a policy means, in words. */
export function gateText(member: string, value: unknown): string {
  if (member === 'read' && value === 'owner') return 'the agent that set the standard of the namespace';
  if (member !== 'approver') return GATES[String(value)] ?? valueText(value);
  if (value === 'human') return 'any registered agent but the one that asks';
  const { agent, consensus } = (value ?? {}) as { readonly agent?: unknown; readonly consensus?: unknown };
  return agent !== undefined
    ? String(agent)
    : consensus !== undefined
      ? `${String(consensus)} agents together`
      : valueText(value);
}

/** The namespace of rules that hold everywhere. */
const EVERYWHERE = '_global';

/** Whether a rule of a namespace holds in another one: there, or in one above it. */
export const ruleHoldsIn = (of: string, namespace: string): boolean =>
  of === EVERYWHERE || `${namespace}/`.startsWith(`${of}/`);

/** What a rule about reads is about, in words; what this page does not know is shown as it is. */
export function readText({
  surface,
  namespace,
  query_substring: words,
  all,
  ...rest
}: Readonly<Record<string, unknown>>): string {
  const parts = [
    all === true ? 'all reads' : surface === undefined ? 'reads' : `${valueText(surface)}`,
    ...(namespace === undefined ? [] : [`of ${valueText(namespace)}`]),
    ...(words === undefined ? [] : [`that ask for “${valueText(words)}”`]),
    ...(Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)]),
  ];
  return parts.join(' ');
}

/** The member of a policy that an action of this type waits for. */
const GATED_BY: Readonly<Record<string, string>> = {
  ...{ store: 'write', update: 'write', promote: 'promote' },
  ...{ delete: 'delete', forget: 'delete', archive: 'delete' },
};

/** Why an action waits, by the policies that hold in its namespace. */
export function whyItWaits(action: string, levels: readonly PolicyLevel[]): string {
  const asked = GATED_BY[action] ?? action;
  const row = policyIn(levels).find(({ member }) => member === asked);
  if (row?.value !== 'approve') return 'a rule of the node asks for an approval';
  return row.from === null
    ? `the service asks for an approval of each ${asked}`
    : `the policy of ${row.from} asks for an approval of each ${asked}`;
}
