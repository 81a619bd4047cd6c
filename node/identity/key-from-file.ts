import { PUBLIC_KEY_BYTES, publicKeyFromText } from '../../protocol/base/key-text.js';

/**
 * The 32 bytes of a key file to import: raw, or one line of base64, URL-safe base64 or hex; null for another content.
 */
export function keyFromFile(content: Uint8Array): Uint8Array | null {
  if (content.length === PUBLIC_KEY_BYTES) return content;
  if (content.length > 4 * PUBLIC_KEY_BYTES) return null;
  const line = Buffer.from(content)
    .toString('latin1')
    .replace(/\r?\n$/, '');
  return publicKeyFromText(line) ?? fromHex(line.toLowerCase());
}

function fromHex(text: string): Uint8Array | null {
  if (text.length !== 2 * PUBLIC_KEY_BYTES) return null;
  const bytes = Buffer.from(text, 'hex');
  return bytes.length === PUBLIC_KEY_BYTES && bytes.toString('hex') === text ? bytes : null;
}
