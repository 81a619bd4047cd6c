import { SIGNATURE_BYTES } from '../verify-ed25519.js';
import { KEY_BYTES } from './key-file.js';

/**
 * Keys and signatures as text. Text is read only in its canonical form, without white space, missing padding or stray
 * bits, so that a signature has one spelling.
 */

/** A public key as `identity export-pub` prints it: URL-safe base64 without padding, 43 characters. */
export function publicKeyText(publicKey: Uint8Array): string {
  return Buffer.from(publicKey).toString('base64url');
}

/** The 32 bytes of a public key in URL-safe base64 without padding or in standard base64; null for other text. */
export function publicKeyFromText(text: string): Uint8Array | null {
  return exactly(KEY_BYTES, text, 'base64url') ?? exactly(KEY_BYTES, text, 'base64');
}

/** The 64 bytes of a signature in standard base64 with padding (interface §4.2, rule 1); null for other text. */
export function signatureFromText(text: string): Uint8Array | null {
  return exactly(SIGNATURE_BYTES, text, 'base64');
}

/**
 * The 32 bytes of a key file to import: raw, or one line of base64, URL-safe base64 or hex; null for another content.
 */
export function keyFromFile(content: Uint8Array): Uint8Array | null {
  if (content.length === KEY_BYTES) return content;
  if (content.length > 4 * KEY_BYTES) return null;
  const line = Buffer.from(content)
    .toString('latin1')
    .replace(/\r?\n$/, '');
  return publicKeyFromText(line) ?? exactly(KEY_BYTES, line.toLowerCase(), 'hex');
}

function exactly(count: number, text: string, encoding: 'base64' | 'base64url' | 'hex'): Uint8Array | null {
  // Long texts are refused before they are decoded.
  if (text.length > 2 * count) return null;
  const bytes = Buffer.from(text, encoding);
  return bytes.length === count && bytes.toString(encoding) === text ? bytes : null;
}
