import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Random, Signer } from '../../protocol/base/seams.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { placeFile } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';

/** The rules of key files, shared by the machine's key and the agents' keys (reference-federation §1.3). */

/** A key file cannot be used; the message says why and what to do. It never holds key material. */
export class KeyFileError extends StartRefusedError {
  constructor(message: string) {
    super('CONFIG_INVALID', message);
  }
}

const READ_ATTEMPTS_MAX = 20;

/** A public key and a private seed have the same length. */
export const KEY_BYTES = 32;
export const PRIVATE_MODE = 0o600;
export const PUBLIC_MODE = 0o644;

// PKCS#8 header of an Ed25519 key (RFC 8410); the raw 32 bytes follow it.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Makes the folder for keys (0700) if it is missing, and refuses one that others may write to. */
export function openKeyFolder(folder: string): void {
  makeFolder(folder);
  if (isWritableByOthers(folder)) {
    throw new KeyFileError(`${folder} may be written by others: run chmod 700 on it`);
  }
}

/** False for a folder that does not exist. */
export function isWritableByOthers(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o022) !== 0;
}

/**
 * The seed of a private key file; null when the file does not exist. Throws KeyFileError for a file that other users
 * may read.
 */
export function readSeed(path: string): Buffer | null {
  for (let attempt = 1; ; attempt += 1) {
    const file = readKey(path);
    if (file === null) return null;
    if ((file.mode & 0o077) !== 0) {
      throw new KeyFileError(`${path} may be read by others: run chmod 600 on it`);
    }
    const seed = exactly32(path, file.bytes);
    if (!isBlank(seed)) return seed;
    // A rotation erases the old file after another has taken its name; a process that still has it open reads zeros.
    const replaced = statSync(path, { throwIfNoEntry: false })?.ino !== file.inode;
    if (!replaced || attempt === READ_ATTEMPTS_MAX) {
      throw new KeyFileError(`${path} holds only zeros: the key was lost`);
    }
  }
}

/** True for a seed of zeros, which a torn or erased file leaves and which anyone can guess. */
export function isBlank(seed: Uint8Array): boolean {
  return seed.every((byte) => byte === 0);
}

/**
 * The key of a public key file; null when the file does not exist. Throws KeyFileError for a file that other users may
 * write.
 */
export function readPublicKey(path: string): Buffer | null {
  const file = readKey(path);
  if (file === null) return null;
  if ((file.mode & 0o022) !== 0) {
    throw new KeyFileError(`${path} may be written by others: run chmod 644 on it`);
  }
  return exactly32(path, file.bytes);
}

/** The checks apply to the open file, so that it cannot be replaced between check and read. */
function readKey(path: string): { bytes: Buffer; mode: number; inode: number } | null {
  let file: number | null = null;
  try {
    // A pipe in the place of a key must not stop the process.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { mode, ino: inode } = fstatSync(file);
    return { bytes: readFileSync(file), mode, inode };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A path through a file does not exist either.
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new KeyFileError(`cannot read ${path}: ${code}`);
  } finally {
    if (file !== null) closeSync(file);
  }
}

function exactly32(path: string, bytes: Buffer): Buffer {
  if (bytes.length !== KEY_BYTES) {
    throw new KeyFileError(`${path} must hold exactly ${KEY_BYTES} bytes, but it holds ${bytes.length}`);
  }
  return bytes;
}

/** A new random seed. */
export function newSeed(): Buffer {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8_PREFIX.length);
}

/** Signs with the private key of a seed (RFC 8032). */
export function signerOf(seed: Uint8Array): Signer {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return {
    publicKey: rawPublicKey(createPublicKey(privateKey)),
    sign: (data) => sign(null, data, privateKey),
  };
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
}

/** Puts a whole file in place; false, and nothing changed, when the name is taken. */
export function createFile(path: string, bytes: Uint8Array, mode: number, random: Random): boolean {
  return placeFile({ path, draft: draftOf(path, random), content: bytes, mode }, (draft) => {
    try {
      // A link fails when the name exists, so only one of several processes makes the file.
      linkSync(draft, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  });
}

/** Puts a whole file in place, replacing any file of that name. */
export function replaceFile(path: string, bytes: Uint8Array, mode: number, random: Random): void {
  placeFile({ path, draft: draftOf(path, random), content: bytes, mode });
}

/**
 * Overwrites a private key and removes its name, or lets `replace` do so. The name goes first: a crash in between
 * leaves an old key without a name, never a name with a key of zeros.
 */
export function destroySeed(path: string, replace: () => void = () => unlinkSync(path)): void {
  let old: number | null = null;
  try {
    chmodSync(path, PRIVATE_MODE);
    old = openSync(path, constants.O_WRONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  replace();
  if (old === null) return;
  try {
    writeSync(old, Buffer.alloc(KEY_BYTES), 0, KEY_BYTES, 0);
    fsyncSync(old);
  } finally {
    closeSync(old);
  }
}

/** No agent id contains a comma, so a draft is never taken for a key. */
const draftOf = (path: string, random: Random): string =>
  join(dirname(path), `,${basename(path).slice(0, 64)}.${random.uuid()}`);
