import { ed25519 } from '@noble/curves/ed25519.js';

const PUBLIC_KEY_BYTES = 32;

/**
 * Says why an Ed25519 public key is refused, or null (decisions, "Ed25519"). A key must be the only encoding of a point
 * of the prime-order group. With any other key an attacker could sign without the private key, or verifiers would
 * disagree.
 *
 * Load this module only to check a key (`await import`): the curve costs start-up time, and a check takes about a
 * millisecond. So it runs at binding and enrolment, never for each signature.
 */
export function publicKeyProblem(bytes: Uint8Array): string | null {
  if (bytes.length !== PUBLIC_KEY_BYTES) {
    return `a public key has exactly ${PUBLIC_KEY_BYTES} bytes, this one has ${bytes.length}`;
  }
  const point = decode(bytes);
  if (point === null) return 'the public key is not a point of the curve';
  const canonical = point.toBytes();
  // Catches y beyond the field's prime, and a sign bit on x = 0.
  if (!canonical.every((byte, index) => byte === bytes[index])) {
    return 'the public key is not in its canonical encoding';
  }
  if (point.isSmallOrder()) return 'the public key is of small order: anyone could sign with it';
  if (!point.isTorsionFree()) return 'the public key is of mixed order: it is outside the prime-order group';
  return null;
}

/** The point, also from an encoding that is not canonical; null when the bytes encode no point. */
function decode(bytes: Uint8Array) {
  try {
    return ed25519.Point.fromBytes(bytes, true);
  } catch {
    return null;
  }
}
