import { z } from 'zod';
import { publicKeyFromText } from '../../../protocol/base/key-text.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { operatorView } from '../../transfer/operator-view.js';

const output = z.object({
  bound: z.literal(true),
  agent_id: z.string(),
  agent_pubkey: z.string().optional(),
});

/** Binds an Ed25519 key to a registered agent (interface §4.9, PUT /agents/{id}/pubkey). */
export const agentBindKey = defineOperation({
  name: 'agent_bind_key',
  family: 'meta',
  summary: 'Bind an Ed25519 public key to a registered agent; it then verifies signed writes of the agent.',
  input: z.object({
    id: fields.agentId,
    pubkey_b64: z.string().describe('32-byte Ed25519 public key, base64 or unpadded URL-safe base64'),
  }),
  output,
  effect: 'write',
  guards: { admin: true, attestation: 'by-key' },
  delegable: 'never',
  http: [
    {
      method: 'PUT',
      path: '/agents/{id}/pubkey',
      fields: 'body',
      shape: ({ bound, agent_id }) => ({ bound, agent_id }),
      output: output.omit({ agent_pubkey: true }),
    },
  ],
  cli: {
    command: 'agents bind-key',
    aliases: { agent_id: 'id', pubkey: 'pubkey_b64' },
    shown: { id: 'agent_id', pubkey_b64: 'pubkey' },
    view: 'message',
    message: (output) => `bound: ${output['agent_pubkey']} to ${output['agent_id']}`,
    examples: [
      'agents bind-key --agent-id ai:builder --pubkey "$(mnemesh identity export-pub --agent-id ai:builder)"',
    ],
  },
  run: async (call, { id, pubkey_b64 }) => {
    const permitted = operatorView(call.caller);
    if (!permitted.ok) return failed(permitted.error);
    const key = await admittedKey(pubkey_b64);
    if (!key.ok) return failed(key.error);
    const result = await call.services.store.execute({
      kind: 'bind-agent-key',
      agentId: id,
      publicKey: key.value,
      by: call.caller.agentId,
    });
    if (!result.ok) return failed(result.error);
    return ok({ bound: true as const, agent_id: id, agent_pubkey: key.value });
  },
});

/** Revokes the key of an agent: its new signatures are refused, earlier signed writes stay attested. */
export const agentRevokeKey = defineOperation({
  name: 'agent_revoke_key',
  family: 'meta',
  summary: 'Revoke the public key of an agent.',
  input: z.object({ id: fields.agentId }),
  output: z.object({ revoked: z.literal(true), agent_id: z.string() }),
  effect: 'write',
  guards: { admin: true, attestation: 'by-key' },
  delegable: 'never',
  cli: {
    command: 'agents revoke-key',
    aliases: { agent_id: 'id' },
    shown: { id: 'agent_id' },
    view: 'message',
    message: (output) => `revoked the key of ${output['agent_id']}`,
  },
  run: async (call, { id }) => {
    const permitted = operatorView(call.caller);
    if (!permitted.ok) return failed(permitted.error);
    const result = await call.services.store.execute({
      kind: 'bind-agent-key',
      agentId: id,
      publicKey: null,
      by: call.caller.agentId,
    });
    return result.ok ? ok({ revoked: true as const, agent_id: id }) : failed(result.error);
  },
});

/** The key as standard base64, when it is sound: an unsound key would accept signatures that anyone can make. */
async function admittedKey(text: string): Promise<Result<string>> {
  const bytes = publicKeyFromText(text);
  const { publicKeyProblem } = await import('../../../protocol/identity/ed25519-admission.js');
  const problem = bytes === null ? 'it is not the base64 of 32 bytes' : publicKeyProblem(bytes);
  if (bytes !== null && problem === null) return ok(Buffer.from(bytes).toString('base64'));
  return fail('VALIDATION_FAILED', `pubkey_b64: ${problem}`, { fields: ['pubkey_b64'] });
}
