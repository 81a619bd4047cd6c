/** Bytes as hexadecimal text, and back; null for other text. */
const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const bytesOf = (hex: string): Uint8Array | null =>
  /^([0-9a-f]{2})*$/.test(hex)
    ? Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : null;

const mixed = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((byte, index) => byte ^ b[index]!);

/** A text in two halves. Each alone is random bytes and says nothing of the text but its length. */
export interface Halves {
  readonly sealed: string;
  readonly pad: string;
}

/** Takes a text apart; `random` fills bytes. */
export function halvesOf(text: string, random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): Halves {
  const bytes = new TextEncoder().encode(text);
  const pad = random(new Uint8Array(bytes.length));
  return { sealed: hexOf(mixed(bytes, pad)), pad: hexOf(pad) };
}

/** The text of two halves; null where they do not belong together. */
export function joined({ sealed, pad }: Halves): string | null {
  const [a, b] = [bytesOf(sealed), bytesOf(pad)];
  if (a === null || b === null || a.length !== b.length) return null;
  return new TextDecoder().decode(mixed(a, b));
}
