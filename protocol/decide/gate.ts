import type { AgentId } from '../base/meanings.js';
import type { PermissionOp } from './permissions.js';

/** The members of a policy that gate an action. */
export const GATES = ['write', 'promote', 'delete'] as const;
export type Gate = (typeof GATES)[number];

/** One gate that a change passes. */
export interface GatedPlace {
  /**
   * What a policy calls it; `link` for a link, about which only permission rules say something, and `reflect` for the depth
   * of a reflection, above which a policy can want an approval.
   */
  readonly gate: Gate | 'link' | 'reflect';
  /** The depth of the reflection; for `reflect` only. */
  readonly depth?: number;
  readonly namespace: string;
  /** The owner of the row that changes; absent for a new row, where the owner of the policy counts. */
  readonly rowOwner?: AgentId | null;
  /** The only agent that sees the row, before and after the change; absent if others see it too. */
  readonly privateTo?: AgentId;
  /** What permission rules call it. */
  readonly ops: readonly PermissionOp[];
}
