/**
 * Encoder for the only shape of CBOR (RFC 8949) that signed envelopes use: a definite-length map of text keys to text,
 * bytes, unsigned integers, lists of texts or null, with the keys in plain ascending order (decisions, "signed write envelope"). RFC
 * 8949's deterministic order puts shorter keys first, so no general encoder fits.
 */
export type CborValue = string | Uint8Array | number | readonly string[] | null;

const UNSIGNED = 0x00;
const BYTES = 0x40;
const TEXT = 0x60;
const LIST = 0x80;
const MAP = 0xa0;
const NULL = 0xf6;
/** The longest head: its type, and a length of four bytes. */
const HEAD_BYTES_MAX = 5;

const encoder = new TextEncoder();

/** Writes into an array of sufficient length. */
class Output {
  private length = 0;

  constructor(private readonly bytes: Uint8Array) {}

  value(value: CborValue): void {
    if (value === null) this.bytes[this.length++] = NULL;
    else if (typeof value === 'number') this.head(UNSIGNED, value);
    else if (typeof value === 'string') this.text(value);
    else if (value instanceof Uint8Array) this.string(BYTES, value);
    else {
      this.head(LIST, value.length);
      for (const item of value) this.text(item);
    }
  }

  head(type: number, argument: number): void {
    if (argument < 24) {
      this.bytes[this.length++] = type | argument;
      return;
    }
    const size = argument < 0x100 ? 1 : argument < 0x10000 ? 2 : 4;
    this.bytes[this.length++] = type | (size === 1 ? 24 : size === 2 ? 25 : 26);
    for (let shift = 8 * (size - 1); shift >= 0; shift -= 8) this.bytes[this.length++] = argument >>> shift;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** Names, titles and dates are mostly short and ASCII; TextEncoder is expensive for those. */
  private text(text: string): void {
    const start = this.length;
    this.head(TEXT, text.length);
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) {
        this.length = start;
        this.string(TEXT, encoder.encode(text));
        return;
      }
      this.bytes[this.length++] = code;
    }
  }

  private string(type: number, bytes: Uint8Array): void {
    this.head(type, bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }
}

/** Upper bound of the bytes of a value: three for each UTF-16 unit. */
function bytesMax(value: CborValue): number {
  if (value === null) return 1;
  if (typeof value === 'string') return HEAD_BYTES_MAX + 3 * value.length;
  if (value instanceof Uint8Array) return HEAD_BYTES_MAX + value.length;
  if (typeof value !== 'number') return value.reduce((sum, item) => sum + bytesMax(item), HEAD_BYTES_MAX);
  if (Number.isInteger(value) && value >= 0 && value <= 0xffffffff) return HEAD_BYTES_MAX;
  throw new RangeError('CBOR envelopes hold only unsigned 32-bit integers');
}

/** Encodes a flat map with its keys in ascending order. */
export function encodeCborMap(map: Readonly<Record<string, CborValue>>): Uint8Array {
  const keys = Object.keys(map).sort();
  let size = HEAD_BYTES_MAX;
  for (const key of keys) size += bytesMax(key) + bytesMax(map[key]!);
  const out = new Output(new Uint8Array(size));
  out.head(MAP, keys.length);
  for (const key of keys) {
    out.value(key);
    out.value(map[key]!);
  }
  return out.written();
}
