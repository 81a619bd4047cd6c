import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { publicKeyFromText, publicKeyText, signatureFromText } from '../../../protocol/base/key-text.js';

const bytesOf = (seed: number, count: number) =>
  createHash('sha512').update(`bytes ${seed}`).digest().subarray(0, count);

/** What may happen to a text on its way: each is another spelling, or another text. */
const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => ` ${text}`,
  (text) => `${text}\n`,
  (text) => `${text.slice(0, 10)} ${text.slice(10)}`,
  (text) => `${text}=`,
  (text) => `${text}A`,
  (text) => text.slice(0, -1),
  (text) => text.replace(/=+$/, ''),
  (text) => text.replace(/[+/]/g, (character) => (character === '+' ? '-' : '_')),
  (text) => text.replace(/[-_]/g, (character) => (character === '-' ? '+' : '/')),
  // Stray bits behind the last byte.
  (text) => text.replace(/.(=*)$/, 'B$1'),
  (text) => text.replace(/.(=*)$/, '/$1'),
  (text) => text.replace(/.(=*)$/, 'é$1'),
  (text) => text.replace(/.(=*)$/, '\u{1F511}$1'),
  (text) => text.repeat(3),
  () => '',
];

/** The reading by Buffer, which decodes leniently: a text is taken when its bytes give the same text. */
const byBuffer = (text: string, count: number, ...encodings: ('base64' | 'base64url')[]) =>
  encodings
    .map((encoding) => ({ bytes: Buffer.from(text, encoding), encoding }))
    .find(({ bytes, encoding }) => bytes.length === count && bytes.toString(encoding) === text)
    ?.bytes.toString('hex') ?? null;

const hex = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('hex'));

describe('keys and signatures as text', () => {
  it('come back as they went, a key in either alphabet', () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const key = bytesOf(seed, 32);
      assert.equal(publicKeyText(key), key.toString('base64url'));
      assert.equal(hex(publicKeyFromText(publicKeyText(key))), key.toString('hex'));
      assert.equal(hex(publicKeyFromText(key.toString('base64'))), key.toString('hex'));
      const signature = bytesOf(seed, 64);
      assert.equal(hex(signatureFromText(signature.toString('base64'))), signature.toString('hex'));
      if (/[+/]/.test(signature.toString('base64')))
        assert.equal(signatureFromText(signature.toString('base64url')), null);
    }
  });

  it('are read in their one spelling only, exactly as Buffer writes it', () => {
    let refused = 0;
    for (let seed = 0; seed < 100; seed += 1) {
      const texts = [bytesOf(seed, 32), bytesOf(seed, 64), bytesOf(seed, 31), bytesOf(seed, 33)].flatMap(
        (bytes) => [bytes.toString('base64'), bytes.toString('base64url')],
      );
      for (const text of texts)
        for (const spell of SPELLINGS) {
          const spelling = spell(text);
          const key = hex(publicKeyFromText(spelling));
          const signature = hex(signatureFromText(spelling));
          assert.equal(key, byBuffer(spelling, 32, 'base64url', 'base64'), JSON.stringify(spelling));
          assert.equal(signature, byBuffer(spelling, 64, 'base64'), JSON.stringify(spelling));
          if (key === null && signature === null) refused += 1;
        }
    }
    assert.ok(refused > 8000, `most spellings are refused, here ${refused}`);
  });
});
