import { canonicalJson } from '../base/canonical-json.js';
import { signatureFromText } from '../base/key-text.js';
import type { Crypto } from '../base/seams.js';
import type { RuleSettings, RuleTrust, SignedRule } from '../decide/permissions.js';
import { TRUST_ALL } from './rules.js';

const encoder = new TextEncoder();

/** The bytes that the operator signs: all that a rule says, whether it is enabled included. */
export function ruleBytes(rule: SignedRule): Uint8Array {
  const { signature: _, attest_level: _level, rest, ...members } = rule;
  return encoder.encode(`mnemesh/rule/v1\n${canonicalJson({ ...rest, ...members })}`);
}

/** The bytes that the operator signs to remove a rule as it is. */
export function ruleRemovalBytes({
  rule_id,
  updated_at,
}: Pick<SignedRule, 'rule_id' | 'updated_at'>): Uint8Array {
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

/**
 * The trust that a node's settings give to rules. It remembers its verdicts, because a rule is judged at every write: the
 * engine hands out the same object while a rule stays as it is.
 */
export function trustOf({ operatorKey, failOpen }: RuleSettings, crypto: Crypto): RuleTrust {
  if (operatorKey === null) return { ...TRUST_ALL, failOpen };
  const verdicts = new WeakMap<SignedRule, boolean>();
  const isTrusted = (rule: SignedRule): boolean => {
    let verdict = verdicts.get(rule);
    if (verdict === undefined) {
      verdict = rule.signature !== null && isSignedBy(operatorKey, ruleBytes(rule), rule.signature, crypto);
      verdicts.set(rule, verdict);
    }
    return verdict;
  };
  const mayRemove = (rule: SignedRule, signature: string | null) =>
    isSignedBy(operatorKey, ruleRemovalBytes(rule), signature, crypto);
  return { isTrusted, mayRemove, failOpen };
}
