/**
 * Patterns of paths, namespaces and the like: `*` stands for any characters but `/`, `**` for any characters; all
 * others stand for themselves.
 */

interface Part {
  readonly literal: string;
  /** The star after the literal. */
  readonly star: 'none' | 'segment' | 'any';
}

/**
 * True when a text matches a pattern. The work is at most the product of the two lengths, whatever the pattern: it
 * keeps the set of places that the text can have reached after each part.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const parts = partsOf(pattern);
  // Most patterns are told apart by their beginning.
  if (!text.startsWith(parts[0]!.literal)) return false;
  let reached = new Uint8Array(text.length + 1);
  reached[0] = 1;
  for (const { literal, star } of parts) {
    const next = new Uint8Array(text.length + 1);
    let open = false;
    for (let at = 0; at <= text.length; at += 1) {
      if (star === 'segment' && text[at - 1] === '/') open = false;
      const start = at - literal.length;
      const ends = start >= 0 && reached[start] === 1 && text.startsWith(literal, start);
      if (ends && star !== 'none') open = true;
      next[at] = open || ends ? 1 : 0;
    }
    reached = next;
  }
  return reached[text.length] === 1;
}

/** A pattern as the source of a regular expression, without its ends; SQLite's and PostgreSQL's read it alike. */
export const globSource = (pattern: string): string =>
  partsOf(pattern)
    .map(({ literal, star }) => {
      const plain = literal.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return plain + (star === 'none' ? '' : star === 'any' ? '.*' : '[^/]*');
    })
    .join('');

/** How exact a pattern is: the letters before its first star. */
export const literalLength = (pattern: string): number =>
  pattern.includes('*') ? pattern.indexOf('*') : pattern.length;

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  while (from <= pattern.length) {
    const at = pattern.indexOf('*', from);
    if (at < 0) break;
    let end = at + 1;
    while (pattern[end] === '*') end += 1;
    parts.push({ literal: pattern.slice(from, at), star: end - at > 1 ? 'any' : 'segment' });
    from = end;
  }
  return [...parts, { literal: pattern.slice(from), star: 'none' }];
}

/** A path without `.`, `..`, doubled and trailing slashes, as far as its text says. */
export function plainPath(path: string): string {
  const root = path.startsWith('/') ? '/' : '';
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (part !== '..' || root === '') kept.push(part);
  }
  return root + kept.join('/');
}
