/**
 * Keys and signatures as text. Only the canonical form is accepted, without white space, missing padding or stray bits,
 * so a signature has exactly one spelling.
 */

/** Raw Ed25519. */
export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** A public key as `identity export-pub` prints it: URL-safe base64 without padding, 43 characters. */
export function publicKeyText(publicKey: Uint8Array): string {
  return urlSafe(base64Of(publicKey));
}

/** The 32 bytes of a public key in URL-safe base64 without padding or in standard base64; null for other text. */
export function publicKeyFromText(text: string): Uint8Array | null {
  return (
    exactly(PUBLIC_KEY_BYTES, text, text.replaceAll('-', '+').replaceAll('_', '/'), urlSafe) ??
    exactly(PUBLIC_KEY_BYTES, text, text, asItIs)
  );
}

/** True when two texts spell one key; the two forms differ in length. */
export const isSameKey = (one: string, other: string): boolean =>
  one.length === other.length ? one === other : urlSafe(one) === urlSafe(other);

/** The 64 bytes of a signature in standard base64 with padding (interface §4.2, rule 1); null for other text. */
export function signatureFromText(text: string): Uint8Array | null {
  return exactly(SIGNATURE_BYTES, text, text, asItIs);
}

const asItIs = (base64: string): string => base64;
const urlSafe = (base64: string): string =>
  base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/**
 * The bytes of a text, when encoding them again with `spelled` gives the same text; `base64` is the text in the
 * standard alphabet.
 */
function exactly(
  count: number,
  text: string,
  base64: string,
  spelled: (base64: string) => string,
): Uint8Array | null {
  // Refuse long texts before decoding them.
  if (text.length > 2 * count) return null;
  let binary: string;
  try {
    binary = atob(base64);
  } catch {
    return null;
  }
  if (binary.length !== count || spelled(btoa(binary)) !== text) return null;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
