import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemCrypto } from '../../../node/seams.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../../../protocol/base/limits.js';
import { openKey, signatureCases } from '../../support/ed25519-cases.js';
import { compareVerifiers } from '../../support/ed25519-differential.js';

describe('node’s verifier and the curve library', () => {
  it('agree under admitted keys, except that node refuses an R that is neutral, of small or of mixed order', (context) => {
    const { cases, disagreements } = compareVerifiers(0, 120);
    assert.equal(disagreements, 3 * 120, 'the three kinds of R, once a round');
    context.diagnostic(`${cases} cases, ${disagreements} expected disagreements`);
  });
});

describe('the verifier behind the seam', () => {
  it('answers false for whatever has a wrong length or is no key, and throws for nothing', () => {
    const [good] = signatureCases(1) as [ReturnType<typeof signatureCases>[number]];
    const lengths = [0, 1, 31, 32, 33, 63, 64, 65, 4096];
    for (const keyLength of lengths) {
      for (const signatureLength of lengths) {
        for (const fill of [0x00, 0x01, 0x7f, 0xff]) {
          if (keyLength === 32 && signatureLength === 64) continue;
          const key = new Uint8Array(keyLength).fill(fill);
          assert.equal(
            systemCrypto.verify(key, good.message, new Uint8Array(signatureLength).fill(fill)),
            false,
          );
        }
      }
    }
    for (const fill of [0x02, 0x7f, 0xff]) {
      assert.equal(systemCrypto.verify(new Uint8Array(32).fill(fill), good.message, good.signature), false);
    }
  });

  it('reads views into larger buffers, and keeps no hold on them', () => {
    const [good] = signatureCases(2) as [ReturnType<typeof signatureCases>[number]];
    const buffer = new Uint8Array(96);
    const key = buffer.subarray(32, 64);
    key.set(good.publicKey);
    assert.equal(systemCrypto.verify(key, good.message, good.signature), true);
    key.fill(0);
    assert.equal(systemCrypto.verify(good.publicKey, good.message, good.signature), true);
    assert.equal(systemCrypto.verify(key, good.message, good.signature), false);
  });

  it('is right about a key that it has met more keys ago than it keeps', () => {
    const [good, , , flipped] = signatureCases(3) as ReturnType<typeof signatureCases>;
    assert.equal(systemCrypto.verify(good!.publicKey, good!.message, good!.signature), true);
    const other = Buffer.from(openKey(new Uint8Array(32).fill(9)).publicKey);
    for (let count = 0; count <= PUBLIC_KEYS_IMPORTED_MAX; count += 1) {
      other.writeUInt32LE(count, 0);
      systemCrypto.verify(other, new Uint8Array(), good!.signature);
    }
    assert.equal(systemCrypto.verify(good!.publicKey, good!.message, good!.signature), true);
    assert.equal(systemCrypto.verify(good!.publicKey, flipped!.message, flipped!.signature), false);
  });
});
