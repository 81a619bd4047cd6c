import type { Ask } from '../ask.js';
import type { Rule } from '../kinds/rule-kind.js';

/** Queries of rules, each with its answer. */
export interface GovernanceQueries {
  readonly 'list-rules': Ask<ListRules, { readonly rules: readonly Rule[] }>;
}

/** The rules about actions, by id. */
export interface ListRules {
  readonly kind: 'list-rules';
  /** Null for rules of all kinds. */
  readonly of: string | null;
}
