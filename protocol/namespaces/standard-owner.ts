import type { Standard } from '../memory/standard-kind.js';

/** What a standard says. */
export const STANDARD_MEMBERS = ['standard_id', 'parent_namespace', 'governance'] as const;
export type StandardMember = (typeof STANDARD_MEMBERS)[number];

type Owned = Pick<Standard, 'set_by' | 'operator_set'>;

/**
 * True for a member that an admin or the operator set: no agent changes it, and no agent excepts a namespace from it. A
 * standard of an older release does not say who set its members; one that no agent set is the operator's.
 */
export const isOperators = ({ set_by, operator_set }: Owned, member: StandardMember): boolean =>
  operator_set?.includes(member) ?? set_by === null;

/** The standard with those of its members only that a party set. */
export function partOf(standard: Standard, isSetBy: (member: StandardMember) => boolean): Standard {
  return {
    ...standard,
    parent_namespace: isSetBy('parent_namespace') ? standard.parent_namespace : null,
    governance: isSetBy('governance') ? standard.governance : null,
  };
}
