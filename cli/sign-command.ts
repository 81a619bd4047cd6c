import { resultOf } from '../node/client/result-of.js';
import { envelopeOf, signMemory } from '../node/client/sign-memory.js';
import { loadAgentKey } from '../node/identity/key-files.js';
import { systemClock, systemCrypto } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import { defineCommand } from './define-command.js';
import { isSet } from './global-flags.js';
import { agentFlag, agentOf, KEY_DIR_FLAG, keyDirOf } from './identity/key-target.js';
import { fileValue } from './operation-input.js';

const SIGNING = { clock: systemClock, crypto: systemCrypto };

type Memory = Record<string, unknown> & { readonly title: string; readonly content: string };

/** Signs a memory for a request of another program. */
export const signCommand = defineCommand({
  name: 'sign',
  summary: 'Sign a memory with the key of an agent, and print the body for POST /memories.',
  flags: [
    agentFlag('Agent whose key signs'),
    { name: 'envelope', kind: 'switch', doc: 'Print the bytes that are signed instead, in hexadecimal' },
    KEY_DIR_FLAG,
  ],
  positionals: [{ name: 'file', path: 'file', doc: 'The memory as JSON, or - for standard input' }],
  examples: ['sign memory.json --agent-id ai:writer', 'sign - --agent-id ai:writer --envelope'],
  run: async (parsed, terminal) => {
    const agentId = agentOf(parsed);
    if (!agentId.ok) return failed(agentId.error);
    const memory = await memoryIn(parsed.positionals[0]!);
    if (!memory.ok) return failed(memory.error);
    const key = loadAgentKey(keyDirOf(parsed), agentId.value);
    if (key === null) {
      const remedy = `"identity generate --agent-id ${agentId.value}" makes one`;
      return fail('NOT_FOUND', `there is no private key for ${agentId.value}; ${remedy}`);
    }
    const signer = { agentId: agentId.value, sign: (bytes: Uint8Array) => key.sign(bytes) };
    const text = isSet(parsed, 'envelope')
      ? (async () => Buffer.from(envelopeOf(signer.agentId, memory.value, SIGNING).bytes).toString('hex'))()
      : signMemory(signer, memory.value, SIGNING).then((signed) => JSON.stringify(signed));
    const signed = await resultOf(text);
    if (!signed.ok) return failed(signed.error);
    await terminal.print(`${signed.value}\n`);
    return ok(0);
  },
});

async function memoryIn(file: string): Promise<Result<Memory>> {
  const value = await fileValue(file, '<file>', process.stdin);
  if (!value.ok) return failed(value.error);
  if (typeof value.value === 'object' && value.value !== null && !Array.isArray(value.value))
    return ok(value.value as Memory);
  return fail('VALIDATION_FAILED', `${file} must hold one memory, as a JSON object`);
}
