import { STANDARD_CHAIN_MAX } from '../base/limits.js';

/** The namespace whose standard is part of every chain (interface §2.5). */
export const EVERYWHERE = '*';

/**
 * The namespaces whose standards a namespace inherits, the most general first: `*`, then the ancestors, then the
 * namespace itself. A parent that a standard names takes the place of the ancestors of its namespace. The chain ends
 * where it would come back to a namespace, as concurrent writes can make it do.
 */
export function standardChain(
  namespace: string,
  parentOf: (namespace: string) => string | null,
): readonly string[] {
  const chain = new Set<string>();
  let at: string | null = namespace;
  while (at !== null && at !== EVERYWHERE && !chain.has(at) && chain.size < STANDARD_CHAIN_MAX) {
    chain.add(at);
    at = parentOf(at) ?? above(at);
  }
  return [EVERYWHERE, ...[...chain].reverse()];
}

function above(namespace: string): string | null {
  const cut = namespace.lastIndexOf('/');
  return cut > 0 ? namespace.slice(0, cut) : null;
}
