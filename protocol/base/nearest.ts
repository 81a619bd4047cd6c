/**
 * The candidate that a mistyped word most likely meant, or null when no candidate is near: two letters may differ, or a
 * third of a long word.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  const allowed = word.length <= 3 ? 1 : Math.max(2, Math.floor(word.length / 3));
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    const distance = candidate.startsWith(word) && word.length >= 3 ? 1 : editDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions and replacements that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
