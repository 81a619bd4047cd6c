import type { Crypto } from '../base/seams.js';

/** True for a text that can be the id of a node. */
export const isPeerId = (text: string): boolean => /^peer-[0-9a-f]{16}$/.test(text);

/** The id of the node that has a public key. */
export function peerIdOf(publicKey: Uint8Array, crypto: Pick<Crypto, 'sha256Hex'>): string {
  return `peer-${crypto.sha256Hex(publicKey).slice(0, 16)}`;
}
