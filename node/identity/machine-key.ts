import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Random, Signer } from '../../protocol/base/seams.js';
import {
  createFile,
  KeyFileError,
  newSeed,
  openKeyFolder,
  PRIVATE_MODE,
  PUBLIC_MODE,
  readSeed,
  replaceFile,
  signerOf,
} from './key-file.js';

export { KeyFileError } from './key-file.js';

/** The machine's own key, and the peer id derived from it. */
export interface MachineIdentity {
  readonly peerId: string;
  readonly key: Signer;
}

/** The name of the machine's key files; no agent can take it. */
export const MACHINE_LABEL = 'daemon';

/**
 * Loads the machine's key from `daemon.priv` (32 raw bytes, mode 0600, in a 0700 folder), or makes it on the first
 * run (reference-federation §1.3). Safe when several processes start at once: the first file to appear is the key.
 */
export function loadMachineIdentity(keyDir: string, random: Random): MachineIdentity {
  openKeyFolder(keyDir);
  const privatePath = join(keyDir, `${MACHINE_LABEL}.priv`);
  let seed = readSeed(privatePath);
  if (seed === null) {
    makeKey(keyDir, privatePath, random);
    seed = readSeed(privatePath);
    if (seed === null) throw new KeyFileError(`${privatePath} disappeared while it was being made`);
  }
  const key = signerOf(seed);
  return { peerId: `peer-${fingerprintOf(key.publicKey).slice(0, 16)}`, key };
}

/** SHA-256 of a public key, in hex. */
export function fingerprintOf(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('hex');
}

function makeKey(keyDir: string, privatePath: string, random: Random): void {
  const seed = newSeed();
  if (createFile(privatePath, seed, PRIVATE_MODE, random)) {
    replaceFile(join(keyDir, `${MACHINE_LABEL}.pub`), signerOf(seed).publicKey, PUBLIC_MODE, random);
  }
}
