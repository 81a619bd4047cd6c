import { canonicalJson } from '../canonical-json.js';
import type { Crypto } from '../seams.js';
import type { KindDigests, KindNamespace } from './ranges.js';

/** The digests of the namespaces that pass; a kind with no such namespace keeps its entry. */
export function digestsWithin(digests: KindDigests, passes: (namespace: string) => boolean): KindDigests {
  return Object.fromEntries(
    Object.entries(digests).map(([kind, namespaces]) => [
      kind,
      Object.fromEntries(Object.entries(namespaces).filter(([namespace]) => passes(namespace))),
    ]),
  );
}

/**
 * One digest over the namespaces that pass; both sides of a comparison compute it. Equal roots over what both may hold
 * mean equal rows. Kinds without rows do not count, so a kind that only one side knows changes nothing.
 */
export function rootDigest(
  digests: KindDigests,
  passes: (namespace: string) => boolean,
  crypto: Crypto,
): string {
  const within = Object.entries(digestsWithin(digests, passes));
  return crypto.sha256Hex(
    canonicalJson(Object.fromEntries(within.filter(([, namespaces]) => Object.keys(namespaces).length > 0))),
  );
}

/** The names of namespaces, each once. */
export function namespacesOf(of: readonly KindNamespace[]): readonly string[] {
  return [...new Set(of.map(({ namespace }) => namespace))].sort();
}

/** The namespaces that hold rows of any kind. */
export function heldNamespaces(digests: KindDigests): readonly string[] {
  return [...new Set(Object.values(digests).flatMap((namespaces) => Object.keys(namespaces)))].sort();
}
