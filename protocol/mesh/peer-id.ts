import type { Crypto } from '../seams.js';

/** The id of the node that has a public key. */
export function peerIdOf(publicKey: Uint8Array, crypto: Pick<Crypto, 'sha256Hex'>): string {
  return `peer-${crypto.sha256Hex(publicKey).slice(0, 16)}`;
}
