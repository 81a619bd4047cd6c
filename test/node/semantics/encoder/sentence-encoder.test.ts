import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ENCODER_DIM } from '../../../../node/semantics/encoder/encoder-dim.js';
import { KERNEL_BASE64 } from '../../../../node/semantics/encoder/kernel-bytes.js';
import { SentenceEncoder } from '../../../../node/semantics/encoder/sentence-encoder.js';
import { assembleKernel, repositoryRoot } from '../../../storage/vectors/kernel-source.js';
import { madeTexts } from './made-texts.js';

const FOLDER = join(repositoryRoot(), 'node/semantics/encoder');
const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex');

interface Known {
  readonly text: string;
  readonly ids: readonly number[];
  readonly vector: readonly number[];
}

describe('the encoder for sixteen languages', { timeout: 120_000 }, () => {
  const encoder = new SentenceEncoder();
  const oracle = JSON.parse(
    readFileSync(join(repositoryRoot(), 'fixtures/encoder-vectors.json'), 'utf8'),
  ) as Known[];
  const vectorOf = (text: string) => {
    const vector = new Float32Array(ENCODER_DIM);
    encoder.write(text, vector);
    return vector;
  };

  it('comes with the file that was made from the published weights', () => {
    const file = readFileSync(join(FOLDER, 'sentence-encoder.packed'));
    assert.equal(sha256(file), '05b2d19a004a9e9d379107ccf64b9a018a070e2c08868b3e55d2c51b42df0577');
  });

  it('has the kernel that kernel.wat assembles to', async () => {
    const assembled = await assembleKernel('node/semantics/encoder');
    assert.equal(KERNEL_BASE64, Buffer.from(assembled).toString('base64'));
  });

  it('makes the tokens and the vectors of the published program', () => {
    assert.equal(oracle.length, 32);
    for (const { text, ids, vector } of oracle) {
      assert.deepEqual(encoder.ids(text), ids, text);
      const own = vectorOf(text);
      let product = 0;
      let squares = 0;
      for (const [index, value] of vector.entries()) {
        product += value * own[index]!;
        squares += value * value;
      }
      assert.ok(product / Math.sqrt(squares) > 0.9999, `${text}: ${product}`);
    }
  });

  it('makes the tokens of the published tokenizer for 10,000 made texts', () => {
    // The digest of what SentencePiece itself answered.
    const ids = madeTexts(10_000).map((text) => encoder.ids(text));
    assert.equal(sha256(JSON.stringify(ids)), DIGEST_OF_IDS);
  });

  it('makes the same vectors on every machine, bit by bit', () => {
    const hash = createHash('sha256');
    for (const { text } of oracle) hash.update(new Uint8Array(vectorOf(text).buffer));
    assert.equal(hash.digest('hex'), DIGEST_OF_VECTORS);
  });

  it('puts a German question nearer to its English note than to another', () => {
    const near = (a: string, b: string) => {
      const [left, right] = [vectorOf(a), vectorOf(b)];
      return left.reduce((sum, value, index) => sum + value * right[index]!, 0);
    };
    const question = 'Wann dürfen wir in Produktion ausrollen?';
    const note = near(question, 'Deploy window: production deployments happen on Sundays.');
    assert.ok(note > near(question, 'The office plants are watered every Friday.') + 0.2);
  });

  it('reads texts without letters, empty ones and very long ones', () => {
    for (const text of ['', ' ', '🚀', '\u0000', '\ud800', 'x'.repeat(100_000), '漢'.repeat(5000)]) {
      const vector = vectorOf(text);
      const squares = vector.reduce((sum, value) => sum + value * value, 0);
      assert.ok(Math.abs(squares - 1) < 1e-5, `${text.slice(0, 9)}: ${squares}`);
    }
  });
});

const DIGEST_OF_IDS = '2db4cfee1f8c692e717cd11ca9c4eaaabf16bbae5276e951aa992a57d718b341';
const DIGEST_OF_VECTORS = '847cd5bf69641b64764bbdb157870f4b281420c32ffdee1fcb384c2f093e90cf';
