import type { Viewer } from './viewer.js';

/** The names of patterns are few, and each is compared with many rows. */
const PATTERNS_KEPT_MAX = 1_000;
const patterns = new Map<string, RegExp>();

/** True when a text matches a regular expression, as PostgreSQL's function of this name says. */
export function regexpLike(text: string, source: string): boolean {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    if (patterns.size >= PATTERNS_KEPT_MAX) patterns.clear();
    pattern = new RegExp(source);
    patterns.set(source, pattern);
  }
  return pattern.test(text);
}

/** True for a namespace whose rows a rule keeps from a viewer. */
export const isWithheld = ({ withheld }: Pick<Viewer, 'withheld'>, namespace: string): boolean =>
  withheld?.some((source) => regexpLike(namespace, source)) === true;
