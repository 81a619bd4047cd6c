/** What happens where a policy or a permission rule would refuse or delay a write (reference-federation §2.7). */
export const PERMISSION_MODES = ['enforce', 'advisory', 'off'] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** Operations that a permission rule can name (reference-mcp-cli §4). */
export const PERMISSION_OPS = [
  'memory_store',
  'memory_link',
  'memory_delete',
  'memory_archive',
  'memory_consolidate',
  'memory_replay',
] as const;
export type PermissionOp = (typeof PERMISSION_OPS)[number];

/** A rule of the operator (`[[permissions.rules]]`). */
export interface PermissionRule {
  readonly namespacePattern: string;
  readonly op: PermissionOp;
  readonly agentPattern: string;
  readonly decision: 'allow' | 'deny' | 'ask';
  readonly reason: string | null;
}

/** How a node governs writes. */
export interface NodeGovernance {
  readonly mode: PermissionMode;
  readonly rules: readonly PermissionRule[];
  /** Permits what cannot be evaluated, instead of refusing it. */
  readonly failOpen: boolean;
  /** Names the run of the node that decisions with `remember: session` hold for. */
  readonly session: string;
}
