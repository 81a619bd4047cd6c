/** The members of a policy that gate an action. */
export const GATES = ['write', 'promote', 'delete'] as const;
export type Gate = (typeof GATES)[number];
