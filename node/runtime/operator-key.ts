import { publicKeyFromText } from '../../protocol/base/key-text.js';
import { ConfigError } from '../config/load-settings.js';
import type { Settings } from '../config/settings.js';

/** Throws ConfigError for an operator key under which anyone can sign, and for a missing one that is required. */
export async function refuseUnsafeOperatorKey(
  { operatorPubkey, requireOperatorPubkey }: Settings,
  serves: boolean,
): Promise<void> {
  const key = operatorPubkey === null ? null : publicKeyFromText(operatorPubkey);
  if (key === null) {
    if (!serves || !requireOperatorPubkey) return;
    throw new ConfigError(
      '[governance] require_operator_pubkey is set, but there is no operator key: make one with "mnemesh rules keygen", then set SVC_OPERATOR_PUBKEY or [governance] operator_pubkey',
    );
  }
  const { publicKeyProblem } = await import('../../protocol/identity/ed25519-admission.js');
  const problem = publicKeyProblem(key);
  if (problem !== null) throw new ConfigError(`the operator key cannot be used: ${problem}`);
}
