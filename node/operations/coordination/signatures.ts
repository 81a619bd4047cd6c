import { publicKeyFromText } from '../../../protocol/base/key-text.js';
import { holdsFor, type Signed, UNSIGNED } from '../../../protocol/coordination/signed.js';
import { peerIdOf } from '../../../protocol/log/peer-id.js';
import type { ReadCall, ReadServices } from '../../pipeline/call.js';

/** The signature of this machine under some bytes, where it has a key. */
export function signedHere({ services: { machineKey } }: ReadCall, data: Uint8Array): Signed {
  if (machineKey === null) return UNSIGNED;
  return { signature: base64(machineKey.sign(data)), public_key: base64(machineKey.publicKey) };
}

/** True for a signature of this node or of a member of the mesh that covers the bytes. */
export async function isVerified(
  { crypto, peerId, isMember }: Pick<ReadServices, 'crypto' | 'peerId' | 'isMember'>,
  signed: Signed,
  data: Uint8Array,
): Promise<boolean> {
  const publicKey = signed.public_key === null ? null : publicKeyFromText(signed.public_key);
  if (publicKey === null || !holdsFor(signed, data, crypto)) return false;
  const signer = peerIdOf(publicKey, crypto);
  return signer === peerId || (await isMember(signer));
}

/** The word of answers for a record that was just signed, or could not be. */
export const attestLevel = ({ signature }: Signed): 'self_signed' | 'unsigned' =>
  signature === null ? 'unsigned' : 'self_signed';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
