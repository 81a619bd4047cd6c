/**
 * Encoder for the one shape of CBOR (RFC 8949) that signed envelopes use: a definite-length map of text keys to text,
 * bytes, unsigned integers or null, with the keys in plain ascending order (decisions, "signed write envelope"). That
 * is not RFC 8949's deterministic order, which puts shorter keys first; so no general encoder fits.
 */
export type CborValue = string | Uint8Array | number | null;

const encoder = new TextEncoder();

function head(major: number, length: number): number[] {
  const type = major << 5;
  if (length < 24) return [type | length];
  if (length < 0x100) return [type | 24, length];
  if (length < 0x10000) return [type | 25, length >> 8, length & 0xff];
  return [type | 26, length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff];
}

function pushValue(out: number[], value: CborValue): void {
  if (value === null) {
    out.push(0xf6);
  } else if (typeof value === 'number') {
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
      throw new RangeError('CBOR envelopes hold unsigned 32-bit integers only');
    }
    out.push(...head(0, value));
  } else {
    const bytes = typeof value === 'string' ? encoder.encode(value) : value;
    out.push(...head(typeof value === 'string' ? 3 : 2, bytes.length));
    for (const byte of bytes) out.push(byte);
  }
}

/** Encodes a flat map with its keys in ascending order. */
export function encodeCborMap(map: Readonly<Record<string, CborValue>>): Uint8Array {
  const keys = Object.keys(map).sort();
  const out: number[] = head(5, keys.length);
  for (const key of keys) {
    pushValue(out, key);
    pushValue(out, map[key]!);
  }
  return Uint8Array.from(out);
}
