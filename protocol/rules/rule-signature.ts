import { canonicalJson } from '../base/canonical-json.js';
import { signatureFromText } from '../base/key-text.js';
import type { Crypto } from '../base/seams.js';
import type { Rule } from './rule-kind.js';
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

/**
 * The trust that a node's settings give to rules. It remembers its verdicts, because a rule is judged at every write: the
 * engine hands out the same object while a rule stays as it is.
 */
export function trustOf({ operatorKey, failOpen }: RuleSettings, crypto: Crypto): RuleTrust {
  if (operatorKey === null) return { ...TRUST_ALL, failOpen };
  const verdicts = new WeakMap<Rule, boolean>();
  const isTrusted = (rule: Rule): boolean => {
    let verdict = verdicts.get(rule);
    if (verdict === undefined) {
      verdict = rule.signature !== null && isSignedBy(operatorKey, ruleBytes(rule), rule.signature, crypto);
      verdicts.set(rule, verdict);
    }
    return verdict;
  };
  const mayRemove = (rule: Rule, signature: string | null) =>
    isSignedBy(operatorKey, ruleRemovalBytes(rule), signature, crypto);
  return { isTrusted, mayRemove, failOpen };
}
