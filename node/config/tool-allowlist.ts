import { AGENT_ID_LENGTH_MAX } from '../../protocol/base/limits.js';
import { FAMILIES, type Family, familyOf } from './tool-families.js';

/** The families of tools that an agent, the agents of a prefix, or all others (`*`) may use. */
export interface FamilyGrant {
  readonly agent: string;
  readonly families: readonly Family[];
}

/** The beginning of an agent id, or `*`. */
const AGENT = new RegExp(`^(?:\\*|[A-Za-z0-9_.@:/-]{1,${AGENT_ID_LENGTH_MAX}})$`);

/** An entry of `[mcp.allowlist]`, or what is wrong with it. */
export function familyGrantOf({ agent, families }: Readonly<Record<string, unknown>>): FamilyGrant | string {
  const name = String(agent).slice(0, AGENT_ID_LENGTH_MAX + 1);
  if (!AGENT.test(name)) return `"${name}" is no agent id, beginning of one, or "*"`;
  if (!Array.isArray(families) || families.some((family) => typeof family !== 'string')) {
    return `"${name}" must be a list of families`;
  }
  const wrong = (families as string[]).find((family) => family !== 'full' && familyOf(family) === undefined);
  if (wrong !== undefined) {
    return `"${name}" has "${wrong.slice(0, AGENT_ID_LENGTH_MAX)}": the families are ${FAMILIES.join(', ')}, or full for all`;
  }
  const full = families.includes('full');
  return { agent: name, families: FAMILIES.filter((family) => full || families.includes(family)) };
}

/**
 * The families that an agent may use: the entry of its id counts, else that of the longest prefix, else `*`, else none.
 * Without an allowlist all of them.
 */
export function permittedFamilies(
  allowlist: readonly FamilyGrant[] | null,
  agentId: string,
): readonly Family[] {
  if (allowlist === null) return FAMILIES;
  const [closest] = allowlist
    .filter(({ agent }) => agent === '*' || agentId.startsWith(agent))
    .toSorted((a, b) => rank(b) - rank(a));
  return closest?.families ?? [];
}

/** The longest prefix goes first, which an exact id is too. */
const rank = ({ agent }: FamilyGrant): number => (agent === '*' ? 0 : agent.length);
