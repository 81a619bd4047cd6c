import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { BoundedMap } from '../protocol/base/bounded-map.js';
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES } from '../protocol/base/key-text.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../protocol/base/limits.js';

/** Imported keys by their bytes. */
const imported = new BoundedMap<string, KeyObject>(PUBLIC_KEYS_IMPORTED_MAX);

/** The verifier behind the seam `Crypto.verify`, which documents its contract. */
export function verifyEd25519(publicKey: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  // Releases of Node differ here, but nodes of one mesh must agree.
  if (hasNeutralR(signature)) return false;
  return verify(null, data, keyObjectOf(publicKey), signature);
}

/** R is the neutral point: such a signature reveals the private key. */
function hasNeutralR(signature: Uint8Array): boolean {
  if (signature[0] !== 1) return false;
  for (let index = 1; index < SIGNATURE_BYTES / 2; index += 1) if (signature[index] !== 0) return false;
  return true;
}

function keyObjectOf(publicKey: Uint8Array): KeyObject {
  const bytes = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.byteLength);
  const name = bytes.toString('latin1');
  const known = imported.use(name);
  if (known !== undefined) return known;
  // A JWK is imported eight times as fast as the same key in DER.
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  });
  imported.set(name, key);
  return key;
}
