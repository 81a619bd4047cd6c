import { createHash } from 'node:crypto';
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519.js';
import { signerOf } from '../../node/identity/key-file.js';
import { seededRandom } from '../bench/random.js';

const { Point } = ed25519;
type CurvePoint = InstanceType<typeof Point>;

/** The order of the prime-order group. */
export const L = Point.Fn.ORDER;

/** A point of order 8; its multiples are the eight points of small order. */
const TORSION = Point.fromHex(
  ED25519_TORSION_SUBGROUP.find((hex) => !Point.fromHex(hex).multiplyUnsafe(4n).is0())!,
);

/** A signature to be judged, under a key that has been admitted. */
export interface SignatureCase {
  readonly name: string;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  /** The verdict that counts: node's. */
  readonly valid: boolean;
  /** The verdict of the curve library in strict mode, where it is another: it forgives a torsion component of R. */
  readonly libraryDiffers: boolean;
}

/** What it takes to sign in ways that RFC 8032 does not foresee. */
export interface OpenKey {
  readonly seed: Uint8Array;
  readonly publicKey: Uint8Array;
  /** The private scalar. */
  readonly scalar: bigint;
}

export function openKey(seed: Uint8Array): OpenKey {
  const { scalar, pointBytes } = ed25519.utils.getExtendedPublicKey(seed);
  return { seed, publicKey: pointBytes, scalar };
}

/** Little-endian bytes of a number. */
export function littleEndian(value: bigint, count = 32): Uint8Array {
  return Uint8Array.from({ length: count }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
}

export const numberOf = (bytes: Uint8Array) =>
  bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

/** k = SHA-512(R, A, M) modulo L. */
function challenge(r: Uint8Array, publicKey: Uint8Array, message: Uint8Array): bigint {
  return numberOf(createHash('sha512').update(r).update(publicKey).update(message).digest()) % L;
}

/** A signature with the given R, whose logarithm without its torsion component is `nonce`. */
export function signedWith(key: OpenKey, message: Uint8Array, r: Uint8Array, nonce: bigint): Uint8Array {
  const s = (nonce + challenge(r, key.publicKey, message) * key.scalar) % L;
  return Buffer.concat([r, littleEndian(s)]);
}

const smallOrder = (index: number): CurvePoint => TORSION.multiplyUnsafe(BigInt(index % 8));

/** nonce times B, plus a point of small order. */
export function mixedPoint(nonce: bigint, index: number): Uint8Array {
  return Point.BASE.multiplyUnsafe(nonce).add(smallOrder(index)).toBytes();
}

export const smallOrderPoint = (index: number): Uint8Array => smallOrder(index).toBytes();

/** The neutral point in encodings that are not canonical: a sign bit on x = 0, and y beyond the prime. */
export const NEUTRAL_ENCODINGS: readonly Uint8Array[] = [
  `01${'00'.repeat(30)}80`,
  `ee${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}ff`,
].map((hex) => Buffer.from(hex, 'hex'));

/** The cases of one round: the same ones for the same number. */
export function signatureCases(round: number): SignatureCase[] {
  const unit = seededRandom(round);
  const integer = (below: number) => Math.floor(unit() * below);
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => integer(256));
  const key = openKey(bytes(32));
  const other = openKey(bytes(32));
  const message = bytes([0, 1, 32, 190, 4096][integer(5)]!);
  const good = Buffer.from(signerOf(key.seed).sign(message));
  const nonce = (numberOf(bytes(40)) % (L - 1n)) + 1n;
  const s = numberOf(good.subarray(32));
  const withS = (value: bigint) => Buffer.concat([good.subarray(0, 32), littleEndian(value)]);
  const withR = (r: Uint8Array) => Buffer.concat([r, good.subarray(32)]);

  const cases: SignatureCase[] = [];
  const add = (name: string, signature: Uint8Array, valid: boolean, more: Partial<SignatureCase> = {}) =>
    cases.push({ name, publicKey: key.publicKey, message, signature, valid, libraryDiffers: false, ...more });

  add('valid', good, true);
  add('valid, made by the curve library', ed25519.sign(message, key.seed), true);
  add('valid with a nonce of the signer’s own', signedWith(key, message, mixedPoint(nonce, 0), nonce), true);
  add('one bit of R flipped', flipped(good, integer(256)), false);
  add('one bit of S flipped', flipped(good, 256 + integer(256)), false);
  add('S + L', withS(s + L), false);
  add('S + kL', withS(s + BigInt(2 + integer(13)) * L), false);
  add('S = 0', withS(0n), false);
  add('S = L', withS(L), false);
  add('S of all ones', withS(2n ** 256n - 1n), false);
  add('R of zeros', withR(new Uint8Array(32)), false);
  add('R of random bytes', withR(bytes(32)), false);
  add('R with y beyond the prime', withR(littleEndian(2n ** 255n - 19n + BigInt(integer(19)))), false);
  // Whoever chooses the neutral point gives the private key away.
  const neutral = smallOrderPoint(0);
  add('R neutral', signedWith(key, message, neutral, 0n), false, { libraryDiffers: true });
  for (const [index, encoding] of NEUTRAL_ENCODINGS.entries()) {
    add(`R neutral, encoding ${index} that is not canonical`, signedWith(key, message, encoding, 0n), false);
  }
  const index = 1 + integer(7);
  add('R of small order', signedWith(key, message, smallOrderPoint(index), 0n), false, {
    libraryDiffers: true,
  });
  add('R of mixed order', signedWith(key, message, mixedPoint(nonce, index), nonce), false, {
    libraryDiffers: true,
  });
  add('another message', good, false, { message: Buffer.concat([message, Uint8Array.of(0)]) });
  add('the key of another', good, false, { publicKey: other.publicKey });
  add('the signature of another', Buffer.from(signerOf(other.seed).sign(message)), false);
  add('cut short', good.subarray(0, integer(64)), false);
  add('with a byte too many', Buffer.concat([good, bytes(1)]), false);
  add('random bytes', bytes(64), false);
  return cases;
}

function flipped(signature: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(signature);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}
