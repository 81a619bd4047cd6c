import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Crypto, Random } from '../../protocol/base/seams.js';
import type { Secret } from '../config/secret.js';
import {
  createFile,
  destroySeed,
  newSeed,
  openKeyFolder,
  PRIVATE_MODE,
  readSeed,
  signerOf,
} from './key-file.js';

/** The key that signs the tokens of this node. */
export interface TokenSigner {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** No agent id contains a plus sign, so this is never the key of an agent. */
const pathOf = (keyDir: string) => join(keyDir, '+tokens.priv');

/** The key of this node; null before its first token. Throws KeyFileError for a file that others may read. */
export function loadTokenSigner(keyDir: string): TokenSigner | null {
  const seed = readSeed(pathOf(keyDir));
  return seed === null ? null : { seed, publicKey: signerOf(seed).publicKey };
}

/** The key of this node, made where there is none. */
export function ensureTokenSigner(keyDir: string, random: Random): TokenSigner {
  const there = loadTokenSigner(keyDir);
  if (there !== null) return there;
  openKeyFolder(keyDir);
  // Of several processes that make one, the first wins.
  createFile(pathOf(keyDir), newSeed(), PRIVATE_MODE, random);
  return loadTokenSigner(keyDir)!;
}

/** Destroys the key of this node: the next token is signed by another one. */
export function destroyTokenSigner(keyDir: string): void {
  destroySeed(pathOf(keyDir));
}

export const keyIdOf = (publicKey: Uint8Array, crypto: Pick<Crypto, 'sha256Hex'>): string =>
  crypto.sha256Hex(publicKey).slice(0, 16);

/** What a token says of the API key that was presented for it. Only this node can tell whether it is still that key. */
export const keyMarkOf = ({ seed }: TokenSigner, apiKey: Secret): string =>
  createHmac('sha256', seed).update(apiKey.reveal()).digest('hex').slice(0, 32);
