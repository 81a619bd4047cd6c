import { REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { isObjectOrNull, isText, isTextOrNull, isTexts, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { json, listOf, orNull, textOf } from '../kinds/replicated-value.js';

/** The standard of a namespace: the memory that it pins, and its policy (interface §2.5). Its id is the namespace. */
export interface Standard {
  readonly namespace: string;
  /** The memory that is the standard; null when only a parent or a policy is set. */
  readonly standard_id: string | null;
  /** The namespace that it inherits from, when that is not its ancestor. */
  readonly parent_namespace: string | null;
  /** The agent that set it first, null for the operator; only this agent, admins and the operator change it. */
  readonly set_by: string | null;
  /** The members that an admin or the operator set; null where nobody wrote it down (protocol/namespaces/standard-owner.ts). */
  readonly operator_set: readonly string[] | null;
  /** The members of the policy that were set (protocol/namespaces/policy-members.ts); null without a policy. */
  readonly governance: Readonly<Record<string, unknown>> | null;
  readonly updated_at: Instant;
  readonly rest: Rest;
}

const FEW_WORDS = listOf(textOf(REPLICATED_WORD_BYTES_MAX), 16);

export const standardKind = recordKind<Standard>({
  name: 'standard',
  members: {
    namespace: { accepts: isText, default: '' },
    standard_id: { accepts: isTextOrNull, default: null },
    parent_namespace: { accepts: isTextOrNull, default: null },
    set_by: { accepts: isTextOrNull, default: null },
    operator_set: { accepts: orNull(isTexts), admits: orNull(FEW_WORDS), default: null, later: true },
    governance: { accepts: isObjectOrNull, admits: orNull(json), default: null, later: true },
    updated_at: { accepts: isText, default: '' },
  },
  idOf: ({ namespace }) => namespace,
  namespaceOf: ({ namespace }) => namespace,
  // A peer that may not write in a namespace can neither set nor clear its standard under another namespace.
  namespaceOfId: (id) => id,
  governsBelow: true,
  owner: 'set_by',
  memories: ['standard_id'],
  losers: 'listed',
  exported: true,
  decides: true,
  indexes: [{ name: 'standard_memory', members: ['standard_id'] }],
});
