import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random, Signer } from '../../protocol/seams.js';
import { StartRefusedError } from '../../protocol/start-refused.js';

/** The machine's own key, and the peer id that follows from it. */
export interface MachineIdentity {
  readonly peerId: string;
  readonly key: Signer;
}

/** A key file cannot be used; the message says why and what to do. It never holds key material. */
export class KeyFileError extends StartRefusedError {
  constructor(message: string) {
    super('CONFIG_INVALID', message);
  }
}

// PKCS#8 and SPKI headers of an Ed25519 key (RFC 8410): what follows is the raw 32 bytes.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;
const LABEL = 'daemon';

/**
 * Loads the machine's key from `daemon.priv` (32 raw bytes, mode 0600, in a 0700 folder), or makes it at the first
 * run (reference-federation §1.3). Safe when several processes start at once: the first file to appear is the key.
 */
export function loadMachineIdentity(keyDir: string, random: Random): MachineIdentity {
  mkdirSync(keyDir, { recursive: true, mode: 0o700 });
  refuseWritableByOthers(keyDir);
  const privatePath = join(keyDir, `${LABEL}.priv`);
  let seed = readSeed(privatePath);
  if (seed === null) {
    makeKey(keyDir, privatePath, random);
    seed = readSeed(privatePath);
    if (seed === null) throw new KeyFileError(`${privatePath} disappeared while it was being made`);
  }
  return identityOf(seed);
}

function readSeed(path: string): Buffer | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new KeyFileError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new KeyFileError(`${path} may be read by others: run chmod 600 on it`);
  }
  if (bytes.length !== KEY_BYTES) {
    throw new KeyFileError(`${path} must hold exactly ${KEY_BYTES} bytes, it holds ${bytes.length}`);
  }
  return bytes;
}

function refuseWritableByOthers(keyDir: string): void {
  if ((statSync(keyDir).mode & 0o022) !== 0) {
    throw new KeyFileError(`${keyDir} may be written by others: run chmod 700 on it`);
  }
}

function makeKey(keyDir: string, privatePath: string, random: Random): void {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX.length);
  const draft = join(keyDir, `.${LABEL}.${random.uuid()}`);
  writeFileSync(draft, seed, { mode: 0o600, flag: 'wx' });
  try {
    // A link fails when the name exists, so only one of several processes makes the key.
    linkSync(draft, privatePath);
    const publicPath = join(keyDir, `${LABEL}.pub`);
    writeFileSync(publicPath, rawPublicKey(createPublicKey(privateKey)), { mode: 0o644 });
    chmodSync(publicPath, 0o644);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
}

function identityOf(seed: Buffer): MachineIdentity {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = rawPublicKey(createPublicKey(privateKey));
  const fingerprint = createHash('sha256').update(publicKey).digest('hex').slice(0, 16);
  return {
    peerId: `peer-${fingerprint}`,
    key: { publicKey, sign: (data) => sign(null, data, privateKey) },
  };
}
