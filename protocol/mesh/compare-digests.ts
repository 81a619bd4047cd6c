import { mayHold, type Peer } from './peer.js';
import type { KindDigests, KindNamespace } from './ranges.js';

export interface DigestComparison {
  readonly equal: boolean;
  /** Digests that differ, among namespaces that both nodes may hold; in order. */
  readonly differing: readonly KindNamespace[];
  /** The number of digests compared. */
  readonly compared: number;
}

type Holder = Pick<Peer, 'allowedNamespaces'>;

/**
 * Compares the digests of two nodes, over the kinds that both know and the namespaces that both may hold. A namespace
 * that a node does not name is empty there.
 */
export function compareDigests(
  ours: KindDigests,
  theirs: KindDigests,
  us: Holder,
  them: Holder,
): DigestComparison {
  const differing: KindNamespace[] = [];
  let compared = 0;
  for (const kind of Object.keys(ours).sort()) {
    const [mine, others] = [ours[kind]!, theirs[kind]];
    if (others === undefined) continue;
    const shared = [...new Set([...Object.keys(mine), ...Object.keys(others)])]
      .filter((namespace) => mayHold(us, namespace) && mayHold(them, namespace))
      .sort();
    compared += shared.length;
    for (const namespace of shared) {
      if (mine[namespace] !== others[namespace]) differing.push({ kind, namespace });
    }
  }
  return { equal: differing.length === 0, differing, compared };
}
