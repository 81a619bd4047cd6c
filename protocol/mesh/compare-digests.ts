import { mayHold, type Peer } from './peer.js';

export interface DigestComparison {
  readonly equal: boolean;
  /** Namespaces that both may hold and that differ, in order. */
  readonly differing: readonly string[];
  /** Namespaces that were compared. */
  readonly compared: number;
}

type Digests = Readonly<Record<string, string>>;
type Holder = Pick<Peer, 'allowedNamespaces'>;

/** Compares the digests of two nodes over the namespaces that both may hold. One that a node has not is empty there. */
export function compareDigests(ours: Digests, theirs: Digests, us: Holder, them: Holder): DigestComparison {
  const shared = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
    .filter((namespace) => mayHold(us, namespace) && mayHold(them, namespace))
    .sort();
  const differing = shared.filter((namespace) => ours[namespace] !== theirs[namespace]);
  return { equal: differing.length === 0, differing, compared: shared.length };
}
