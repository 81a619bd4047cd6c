import * as limits from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { MESH_NAMESPACE } from '../decide/adoption-kind.js';
import { isObject, isText, isTextOrNull, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, json, orNull, textOf } from '../kinds/replicated-value.js';

/**
 * A rule about what agents do (reference-federation §2.6). What its members mean is read when an action is checked
 * (protocol/rules/rules.ts), so a row can hold a rule of a later release.
 */
export interface Rule {
  readonly rule_id: string;
  /** The kind of actions that it is about, such as `bash`. */
  readonly rule_kind: string;
  readonly matcher: Readonly<Record<string, unknown>>;
  /** `refuse`, `warn` or `log`. */
  readonly severity: string;
  readonly reason: string;
  /** The namespace that it is about, with those below it; `_global` for all. */
  readonly for_namespace: string;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly enabled: boolean;
  /** Standard base64 over the text of the rule (protocol/rules/rule-signature.ts). */
  readonly signature: string | null;
  /** What the writer claims: `unsigned` or `operator_signed`. Only the signature proves it. */
  readonly attest_level: string;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);
const isFlag = (value: unknown): boolean => typeof value === 'boolean';

export const ruleKind = recordKind<Rule>({
  name: 'rule',
  members: {
    rule_id: { accepts: isText, admits: WORD, default: '' },
    rule_kind: { accepts: isText, admits: WORD, default: '' },
    matcher: { accepts: isObject, admits: json, default: {} },
    severity: { accepts: isText, admits: WORD, default: 'refuse' },
    reason: { accepts: isText, admits: textOf(limits.REPLICATED_TITLE_BYTES_MAX), default: '' },
    for_namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '_global' },
    created_by: { accepts: isText, admits: WORD, default: '' },
    created_at: { accepts: isText, admits: instant, default: '' },
    updated_at: { accepts: isText, admits: instant, default: '' },
    enabled: { accepts: isFlag, default: false },
    signature: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    attest_level: { accepts: isText, admits: WORD, default: 'unsigned' },
  },
  idOf: ({ rule_id }) => rule_id,
  namespaceOf: () => MESH_NAMESPACE,
  namespaceOfId: () => MESH_NAMESPACE,
  // No member is the owner: an import would replace it, and the signature covers who made the rule.
  losers: 'dropped',
  reach: 'everybody',
  exported: true,
  decides: true,
  indexes: [{ name: 'rule_of', members: ['rule_kind'] }],
});
