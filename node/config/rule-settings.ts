import { publicKeyFromText } from '../../protocol/agents/key-text.js';
import type { RuleSettings } from '../../protocol/governance/rule-signature.js';
import type { Settings } from './settings.js';

/** How this node judges rules. */
export function ruleSettings({ operatorPubkey, governanceFailOpenOnError }: Settings): RuleSettings {
  const operatorKey = operatorPubkey === null ? null : publicKeyFromText(operatorPubkey);
  return { operatorKey, failOpen: governanceFailOpenOnError };
}
