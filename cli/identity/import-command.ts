import { createReadStream } from 'node:fs';
import { isBlank, KEY_BYTES } from '../../node/identity/key-file.js';
import {
  type InstalledKey,
  installPublicKey,
  installSeed,
  type KeyChange,
} from '../../node/identity/key-files.js';
import { keyFromFile } from '../../node/identity/key-from-file.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { flagValue } from '../global-flags.js';
import { keyAnswer } from './key-answer.js';
import { agentFlag, agentOf, changeOf, FORCE_FLAG, KEY_DIR_FLAG } from './key-target.js';

/** Longer than any encoding of a key. */
const FILE_BYTES_MAX = 256;

/** Imports a key from a file: an agent's pair, or the public key of an agent or a peer elsewhere. */
export const importCommand = defineCommand({
  name: 'identity import',
  summary: 'Import the key of an agent or a peer from a file.',
  flags: [
    agentFlag('Agent or peer that the key belongs to'),
    {
      name: 'pub',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'Public key: 32 raw bytes, base64 or hex (- reads standard input)',
    },
    {
      name: 'priv',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'Private key: 32 raw bytes, base64 or hex (- reads standard input)',
    },
    FORCE_FLAG,
    KEY_DIR_FLAG,
  ],
  examples: [
    'identity import --agent-id peer-0011223344556677 --pub ./peer.pub',
    'identity import --agent-id ai:writer --priv -',
  ],
  run: async (parsed, terminal) => {
    const agentId = agentOf(parsed);
    if (!agentId.ok) return failed(agentId.error);
    const source = sourceOf(parsed);
    if (!source.ok) return failed(source.error);
    const bytes = await keyBytes(source.value.file);
    if (!bytes.ok) return failed(bytes.error);
    const isPrivate = source.value.flag === 'priv';
    const install = isPrivate ? importPrivate : importPublic;
    const key = await install(changeOf(parsed, agentId.value), bytes.value);
    if (!key.ok) return failed(key.error);
    await terminal.print(keyAnswer(parsed, 'imported', agentId.value, key.value, isPrivate));
    return ok(0);
  },
});

function sourceOf(parsed: ParsedArguments): Result<{ flag: 'pub' | 'priv'; file: string }> {
  const pub = flagValue(parsed, 'pub');
  const priv = flagValue(parsed, 'priv');
  if (pub !== undefined && priv === undefined) return ok({ flag: 'pub', file: pub });
  if (priv !== undefined && pub === undefined) return ok({ flag: 'priv', file: priv });
  return fail('VALIDATION_FAILED', 'give either --pub or --priv, with the file that holds the key', {
    fields: ['pub', 'priv'],
  });
}

/** The message names the file and never quotes its content. */
async function keyBytes(file: string): Promise<Result<Uint8Array>> {
  const name = file === '-' ? 'standard input' : file;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    const stream = file === '-' ? process.stdin : createReadStream(file, { end: FILE_BYTES_MAX });
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      chunks.push(chunk);
      if (size > FILE_BYTES_MAX) break;
    }
  } catch (error) {
    return fail('INVALID_ARGUMENT', `cannot read ${name}: ${(error as NodeJS.ErrnoException).code}`);
  }
  const key = keyFromFile(Buffer.concat(chunks));
  if (key !== null) return ok(key);
  return fail('VALIDATION_FAILED', `${name} does not hold a key: give ${KEY_BYTES} raw bytes, base64 or hex`);
}

async function importPrivate(change: KeyChange, seed: Uint8Array): Promise<Result<InstalledKey>> {
  if (isBlank(seed))
    return fail('VALIDATION_FAILED', 'the private key holds only zeros, so it protects nothing');
  return installSeed(change, seed);
}

async function importPublic(change: KeyChange, publicKey: Uint8Array): Promise<Result<InstalledKey>> {
  const { publicKeyProblem } = await import('../../protocol/identity/ed25519-admission.js');
  const problem = publicKeyProblem(publicKey);
  return problem === null ? installPublicKey(change, publicKey) : fail('VALIDATION_FAILED', problem);
}
