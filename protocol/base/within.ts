import { namespaceNameProblem, SUBTREE, subtreeRoot } from './ids.js';

/**
 * The namespaces that a token is for: names of namespaces, and of subtrees (`team/**`, which is `team` and all below it).
 * Absent means all of them; an empty list means none.
 */
export type Within = readonly string[];

/** All namespaces, as a pattern of a token. */
export const EVERY_NAMESPACE = '**';

/** True for a namespace that lies within. */
export const isWithin = (namespace: string, within: Within | undefined): boolean =>
  within === undefined || within.some((pattern) => covers(pattern, namespace));

function covers(pattern: string, namespace: string): boolean {
  const root = subtreeRoot(pattern);
  return root === null ? pattern === namespace : namespace === root || namespace.startsWith(`${root}/`);
}

/** What lies within both lists. Two patterns never overlap: one covers the other, or they have nothing in common. */
export function withinBoth(one: Within | undefined, other: Within | undefined): Within | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const both = [
    ...one.filter((pattern) => other.some((wider) => coversAll(wider, pattern))),
    ...other.filter((pattern) => one.some((wider) => coversAll(wider, pattern))),
  ];
  return [...new Set(both)].sort();
}

function coversAll(wider: string, pattern: string): boolean {
  const root = subtreeRoot(pattern);
  return root === null ? covers(wider, pattern) : wider.endsWith(SUBTREE) && covers(wider, root);
}

/** Characters that have a meaning in the text of a token. */
const QUOTED = /["\\,]/;

/** Says what is wrong with a pattern of a token, or null. */
export function withinProblem(pattern: string): string | null {
  if (pattern === EVERY_NAMESPACE) return null;
  const name = subtreeRoot(pattern) ?? pattern;
  if (name.includes('*')) return 'a pattern is a namespace, or one with /** at its end, or ** for all';
  if (QUOTED.test(name)) return 'a pattern must not hold a quote, a comma or a backslash';
  return namespaceNameProblem(name);
}

/** The patterns as SQL compares them: names, and roots of subtrees. */
export function partsOf(within: Within): {
  readonly names: readonly string[];
  readonly roots: readonly string[];
} {
  return {
    names: within.filter((pattern) => subtreeRoot(pattern) === null),
    roots: within.flatMap((pattern) => subtreeRoot(pattern) ?? []),
  };
}
