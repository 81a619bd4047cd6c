import { signatureFromText } from '../agents/key-text.js';
import { canonicalJson } from '../canonical-json.js';
import type { Rule } from '../kinds/rule-kind.js';
import { RULES_MAX } from '../limits.js';
import type { Crypto } from '../seams.js';
import { type RuleTrust, TRUST_ALL } from './rules.js';

const encoder = new TextEncoder();

/** The bytes that the operator signs: all that a rule says, whether it is enabled included. */
export function ruleBytes(rule: Rule): Uint8Array {
  const { signature: _, attest_level: _level, rest, ...members } = rule;
  return encoder.encode(`mnemesh/rule/v1\n${canonicalJson({ ...rest, ...members })}`);
}

/** The bytes that the operator signs to remove a rule as it is. */
export function ruleRemovalBytes({ rule_id, updated_at }: Pick<Rule, 'rule_id' | 'updated_at'>): Uint8Array {
  return encoder.encode(`mnemesh/rule-removal/v1\n${canonicalJson({ rule_id, updated_at })}`);
}

/** True when a text is a signature over some bytes. */
export function isSignedBy(
  key: Uint8Array,
  bytes: Uint8Array,
  signature: string | null,
  crypto: Crypto,
): boolean {
  const raw = signature === null ? null : signatureFromText(signature);
  return raw !== null && crypto.verify(key, bytes, raw);
}

/** How a node judges rules. Plain data, so it crosses threads. */
export interface RuleSettings {
  /** The operator's public key, 32 raw bytes, admitted at the start; null when none is set. */
  readonly operatorKey: Uint8Array | null;
  readonly failOpen: boolean;
}

export const NO_OPERATOR: RuleSettings = { operatorKey: null, failOpen: false };

/** The trust that a node's settings give to rules. It remembers verdicts, because a rule is judged at every write. */
export function trustOf({ operatorKey, failOpen }: RuleSettings, crypto: Crypto): RuleTrust {
  if (operatorKey === null) return { ...TRUST_ALL, failOpen };
  const known = new Map<string, boolean>();
  const isTrusted = (rule: Rule): boolean => {
    if (rule.signature === null) return false;
    const bytes = ruleBytes(rule);
    const name = `${rule.signature}|${crypto.sha256Hex(bytes)}`;
    let verdict = known.get(name);
    if (verdict === undefined) {
      verdict = isSignedBy(operatorKey, bytes, rule.signature, crypto);
      if (known.size >= 2 * RULES_MAX) known.clear();
      known.set(name, verdict);
    }
    return verdict;
  };
  const mayRemove = (rule: Rule, signature: string | null) =>
    isSignedBy(operatorKey, ruleRemovalBytes(rule), signature, crypto);
  return { isTrusted, mayRemove, failOpen };
}
