import type { Instant } from '../base/meanings.js';
import type { Rest } from '../kinds/payload.js';

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
  'memory_read',
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

/** What one agent may store in one namespace (interface §2.9, §8). */
export interface QuotaLimits {
  readonly memoriesPerDay: number;
  readonly storageBytes: number;
  readonly linksPerDay: number;
}

/** The quotas of a node: those of each agent, and its own. */
export interface NodeQuotas extends QuotaLimits {
  /** Registrations of new or changed agents, of all callers together. */
  readonly registrationsPerDay: number;
  /** What the rows of the database may take; null for no limit. */
  readonly databaseBytes: number | null;
}

/** What the signature of a rule stands in, and what it names; it covers the other members too. */
export interface SignedRule {
  readonly rule_id: string;
  readonly updated_at: Instant;
  readonly signature: string | null;
  readonly attest_level: string;
  readonly rest: Rest;
}

/** Which rules count on a node. */
export interface RuleTrust {
  /** False for a rule without a valid signature of the operator, where an operator key is set. */
  readonly isTrusted: (rule: SignedRule) => boolean;
  /** True when a rule may be removed with a signature over the removal, or with none. */
  readonly mayRemove: (rule: SignedRule, signature: string | null) => boolean;
  /** True lets actions pass whose rules cannot be evaluated. */
  readonly failOpen: boolean;
}

/** How a node judges rules. Plain data, so it crosses threads. */
export interface RuleSettings {
  /** The operator's public key, 32 raw bytes, admitted at the start; null when none is set. */
  readonly operatorKey: Uint8Array | null;
  readonly failOpen: boolean;
}
