import { canonicalJson } from '../base/canonical-json.js';
import type { Crypto } from '../base/seams.js';
import type { BucketDigests, KindDigests, KindNamespace } from './ranges.js';

/**
 * One digest over the buckets of all kinds. Equal roots over what both may hold mean equal rows. Kinds without rows do
 * not count, so a kind that only one side knows changes nothing.
 */
export function rootDigest(buckets: BucketDigests, crypto: Crypto): string {
  const held = Object.entries(buckets).filter(([, each]) => Object.keys(each).length > 0);
  return crypto.sha256Hex(canonicalJson(Object.fromEntries(held)));
}

/** The names of namespaces, each once. */
export function namespacesOf(of: readonly KindNamespace[]): readonly string[] {
  return [...new Set(of.map(({ namespace }) => namespace))].sort();
}

/** The namespaces that hold rows of any kind. */
export function heldNamespaces(digests: KindDigests): readonly string[] {
  return [...new Set(Object.values(digests).flatMap((namespaces) => Object.keys(namespaces)))].sort();
}

/** The sum (exclusive or) of the digests of the same buckets. */
export function addBuckets(a: BucketDigests, b: BucketDigests): BucketDigests {
  const kinds = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries(
    [...kinds].map((kind) => {
      const sums = { ...a[kind] };
      for (const [bucket, digest] of Object.entries(b[kind] ?? {})) {
        const sum = sums[bucket];
        sums[bucket] = sum === undefined ? digest : addHex(sum, digest);
      }
      return [kind, sums];
    }),
  );
}

const addHex = (a: string, b: string): string =>
  (BigInt(`0x${a}`) ^ BigInt(`0x${b}`)).toString(16).padStart(a.length, '0');
