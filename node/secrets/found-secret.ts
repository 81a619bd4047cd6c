/** A secret in a text, without the secret itself. */
export interface FoundSecret {
  /** What it is, such as `github-token`. */
  readonly kind: string;
  /** The characters that it takes, the last one not included. */
  readonly from: number;
  readonly to: number;
}

/**
 * In order and apart: of secrets that overlap one remains, with the kind of the first that begins, and of those that begin
 * together of the longest.
 */
export function apart(found: readonly FoundSecret[]): readonly FoundSecret[] {
  const sorted = [...found].sort((a, b) => a.from - b.from || b.to - a.to);
  const kept: FoundSecret[] = [];
  for (const next of sorted) {
    const last = kept.at(-1);
    if (last === undefined || next.from >= last.to) kept.push(next);
    else if (next.to > last.to) kept[kept.length - 1] = { ...last, to: next.to };
  }
  return kept;
}
