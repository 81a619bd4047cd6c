import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Caller } from '../identity/caller.js';
import { KeyFileError } from '../identity/key-file.js';
import { loadAgentKey } from '../identity/key-files.js';
import { signWrite } from '../identity/sign-write.js';
import type { Services } from './call.js';
import { signedFields } from './signed-fields.js';

type Input = Readonly<Record<string, unknown>>;

/**
 * Signs a write with the caller's own key file where the input requests it (`sign`, only on the command line; interface
 * §4.2, rule 7). The result carries a signature and an instant like a write from another machine, so that one path
 * verifies both. VALIDATION_FAILED without a named agent, ATTESTATION_FAILED without its key, CONFIG_INVALID for a key
 * file that other users may use.
 */
export function signAsAgent<I extends Input>(
  input: I,
  caller: Caller,
  nowMs: number,
  services: Pick<Services, 'settings' | 'crypto'>,
): Result<I> {
  if (input['sign'] !== true) return ok(input);
  const { agentId } = caller;
  if (caller.claimed === 'made') {
    return fail('VALIDATION_FAILED', 'to sign, name the agent whose key signs: --agent-id or SVC_AGENT_ID', {
      fields: ['agent_id'],
    });
  }
  const key = keyOf(services.settings.keyDir, agentId);
  if (!key.ok) return key;
  const fields = signedFields(input, caller, services.settings);
  return ok({ ...input, ...signWrite(key.value, fields, instantFromMs(nowMs), services.crypto) });
}

function keyOf(keyDir: string, agentId: string): Result<Signer> {
  try {
    const key = loadAgentKey(keyDir, agentId);
    if (key !== null) return ok(key);
  } catch (error) {
    if (error instanceof KeyFileError) return fail('CONFIG_INVALID', error.message);
    throw error;
  }
  return fail(
    'ATTESTATION_FAILED',
    `${agentId} has no private key in ${keyDir}; "identity generate --agent-id ${agentId}" makes one`,
  );
}
