import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CborValue, encodeCborMap } from '../../../protocol/base/cbor.js';
import fc from '../../support/properties.js';

const hex = (map: Readonly<Record<string, CborValue>>) => Buffer.from(encodeCborMap(map)).toString('hex');

/** The encoding of one value, cut out of a map `{a: value}`. */
function valueHex(value: CborValue): string {
  const text = hex({ a: value });
  assert.equal(text.slice(0, 6), 'a16161');
  return text.slice(6);
}

/** Reads back what the encoder writes; refuses anything that is not the shortest form. */
function decode(bytes: Uint8Array): [string, CborValue][] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const head = (): [major: number, argument: number] => {
    const first = view.getUint8(at);
    at += 1;
    const short = first & 0x1f;
    if (short < 24) return [first >> 5, short];
    const size = 1 << (short - 24);
    const argument = size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at) : view.getUint32(at);
    assert.ok(argument >= (size === 1 ? 24 : 2 ** (4 * size)), 'not the shortest form');
    at += size;
    return [first >> 5, argument];
  };
  const item = (): CborValue => {
    if (view.getUint8(at) === 0xf6) {
      at += 1;
      return null;
    }
    const [major, argument] = head();
    if (major === 0) return argument;
    if (major === 4) return Array.from({ length: argument }, () => item() as string);
    at += argument;
    const body = bytes.slice(at - argument, at);
    if (major === 2) return body;
    assert.equal(major, 3);
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  };
  const [major, pairs] = head();
  assert.equal(major, 5);
  const entries = Array.from({ length: pairs }, () => [item() as string, item()] as [string, CborValue]);
  assert.equal(at, bytes.length);
  return entries;
}

describe('CBOR of an envelope', () => {
  it('writes each type with the shortest head (RFC 8949, appendix A)', () => {
    const rows: readonly (readonly [CborValue, string])[] = [
      [null, 'f6'],
      [[], '80'],
      [['a', 'IETF'], '8261616449455446'],
      [0, '00'],
      [23, '17'],
      [24, '1818'],
      [255, '18ff'],
      [256, '190100'],
      [65_535, '19ffff'],
      [65_536, '1a00010000'],
      [1_000_000, '1a000f4240'],
      [4_294_967_295, '1affffffff'],
      ['', '60'],
      ['IETF', '6449455446'],
      ['ü', '62c3bc'],
      ['水', '63e6b0b4'],
      ['𐅑', '64f0908591'],
      [new Uint8Array(0), '40'],
      [Uint8Array.of(1, 2, 3, 4), '4401020304'],
    ];
    for (const [value, expected] of rows) assert.equal(valueHex(value), expected);
    assert.equal(valueHex('x'.repeat(23)).slice(0, 2), '77');
    assert.equal(valueHex('x'.repeat(24)).slice(0, 4), '7818');
    assert.equal(valueHex('x'.repeat(255)).slice(0, 4), '78ff');
    assert.equal(valueHex('x'.repeat(256)).slice(0, 6), '790100');
    assert.equal(valueHex('x'.repeat(65_536)).slice(0, 10), '7a00010000');
    assert.equal(valueHex(new Uint8Array(32)).slice(0, 4), '5820');
  });

  it('orders keys by their text, not by their length', () => {
    assert.equal(hex({ b: 1, aa: 2, a: 3 }), 'a361610362616102616201');
    assert.equal(hex({}), 'a0');
  });

  it('refuses numbers that are no unsigned 32-bit integers', () => {
    for (const value of [-1, 0.5, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => encodeCborMap({ a: value }), RangeError, String(value));
    }
  });

  it('can be read back, keys in ascending order', () => {
    const values = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 }),
      fc.nat({ max: 0xffffffff }),
      fc.constant(null),
    );
    const keys = fc.stringMatching(/^[a-z_]{1,12}$/);
    fc.assert(
      fc.property(fc.dictionary(keys, values, { maxKeys: 30, noNullPrototype: true }), (map) => {
        const expected = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
        assert.deepEqual(decode(encodeCborMap(map)), expected);
      }),
    );
  });
});
