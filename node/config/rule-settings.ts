import { publicKeyFromText } from '../../protocol/base/key-text.js';
import type { RuleSettings } from '../../protocol/rules/rule-signature.js';
import type { Settings } from './settings.js';

/** How this node judges rules. */
export function ruleSettings({ operatorPubkey, governanceFailOpenOnError }: Settings): RuleSettings {
  const operatorKey = operatorPubkey === null ? null : publicKeyFromText(operatorPubkey);
  return { operatorKey, failOpen: governanceFailOpenOnError };
}
