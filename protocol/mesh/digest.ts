import { canonicalJson } from '../canonical-json.js';
import type { Crypto } from '../seams.js';

/**
 * One digest over those namespaces that pass, as both sides of a comparison make it: equal roots over what both may
 * hold mean equal rows.
 */
export function rootDigest(
  namespaces: Readonly<Record<string, string>>,
  passes: (namespace: string) => boolean,
  crypto: Crypto,
): string {
  return crypto.sha256Hex(
    canonicalJson(Object.fromEntries(Object.entries(namespaces).filter(([name]) => passes(name)))),
  );
}
