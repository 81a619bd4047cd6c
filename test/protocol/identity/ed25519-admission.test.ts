import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ed25519 } from '@noble/curves/ed25519.js';
import { systemCrypto } from '../../../node/seams.js';
import { publicKeyProblem } from '../../../protocol/identity/ed25519-admission.js';
import { sourceFiles } from '../../architecture/source-files.js';
import {
  littleEndian,
  mixedPoint,
  NEUTRAL_ENCODINGS,
  numberOf,
  openKey,
  smallOrderPoint,
} from '../../support/ed25519-cases.js';

const P = 2n ** 255n - 19n;
const SIGN = 2n ** 255n;
const seeds = Array.from({ length: 16 }, (_, index) => new Uint8Array(32).fill(index + 1));

describe('a public key', () => {
  it('of an honest pair is admitted', () => {
    for (const seed of seeds) assert.equal(publicKeyProblem(openKey(seed).publicKey), null);
  });

  it('of another length than 32 bytes is refused', () => {
    for (const length of [0, 31, 33, 64]) {
      assert.match(
        publicKeyProblem(new Uint8Array(length)) ?? '',
        new RegExp(`32 bytes, this one has ${length}`),
      );
    }
  });

  it('of small order is refused, all eight of them', () => {
    for (let index = 0; index < 8; index += 1) {
      const key = smallOrderPoint(index);
      assert.match(publicKeyProblem(key) ?? '', /small order/);
    }
    // S = 0 and R neutral hold for every message under the neutral key; the verifier refuses that R by itself.
    const forged = Buffer.concat([smallOrderPoint(0), new Uint8Array(32)]);
    assert.equal(systemCrypto.verify(smallOrderPoint(0), Buffer.from('whatever'), forged), false);
  });

  it('of mixed order is refused', () => {
    for (const seed of seeds) {
      const { scalar } = openKey(seed);
      for (let index = 1; index < 8; index += 1) {
        assert.match(publicKeyProblem(mixedPoint(scalar, index)) ?? '', /mixed order/);
      }
    }
  });

  it('in another encoding than the canonical one is refused', () => {
    for (const encoding of NEUTRAL_ENCODINGS) assert.match(publicKeyProblem(encoding) ?? '', /canonical/);
    const beyond = Array.from({ length: 19 }, (_, y) => P + BigInt(y));
    const candidates = [...beyond, ...beyond.map((y) => y + SIGN), 1n + SIGN, P - 1n + SIGN];
    const problems = candidates.map((y) => publicKeyProblem(littleEndian(y)) ?? 'admitted');
    assert.deepEqual(
      problems.filter((problem) => !/canonical|not a point of the curve/.test(problem)),
      [],
    );
    assert.equal(
      problems.filter((problem) => /canonical/.test(problem)).length,
      26,
      'as many as there are encodings of points that are not canonical',
    );
  });

  it('that is not a point of the curve is refused, and a random text is never admitted by chance alone', () => {
    let points = 0;
    for (let index = 0; index < 200; index += 1) {
      const bytes = systemCrypto.sha256(`candidate ${index}`);
      const problem = publicKeyProblem(bytes);
      // What is admitted has the order L and encodes back to its bytes, by the library's own reckoning.
      if (problem === null) {
        const point = ed25519.Point.fromBytes(bytes);
        assert.ok(
          point
            .multiplyUnsafe(ed25519.Point.Fn.ORDER - 1n)
            .add(point)
            .is0() && !point.is0(),
        );
        assert.equal(numberOf(point.toBytes()), numberOf(bytes));
      }
      if (problem !== 'the public key is not a point of the curve') points += 1;
    }
    assert.ok(points > 60 && points < 140, `about half of all texts are points, here ${points}`);
  });
});

describe('the curve library', () => {
  it('is loaded by one module, and that one only where a key is judged', () => {
    const files = ['protocol', 'storage', 'actors', 'node', 'cli'].flatMap((floor) => sourceFiles(floor));
    const curve = files.filter((file) => file.imports.some((specifier) => specifier.startsWith('@noble/')));
    assert.deepEqual(
      curve.map((file) => file.path),
      ['protocol/identity/ed25519-admission.ts'],
    );
    // What judges messages of peers is loaded by the daemon alone.
    const atOnce = files.filter((file) => /from '[^']*ed25519-admission\.js'/.test(file.code));
    assert.deepEqual(
      atOnce.map((file) => file.path).filter((path) => !path.startsWith('node/mesh/')),
      [],
    );
  });
});
