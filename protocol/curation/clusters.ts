import { likenessUnits } from '../memory/likeness.js';
import { isStopWord } from '../ranking/stop-words.js';

/** A memory as it is compared. */
export interface Compared {
  readonly id: string;
  /** Who may see it, and where it lies: only memories of one audience are put together. */
  readonly audience: string;
  readonly words: ReadonlySet<string>;
}

/** The words of a text that are compared. */
export const comparedWords = (text: string): ReadonlySet<string> =>
  new Set(likenessUnits(text).filter((word) => !isStopWord(word)));

/** The share of all words of two texts that both have, 0 to 1 (Jaccard). */
export function commonShare(one: ReadonlySet<string>, other: ReadonlySet<string>, least = 0): number {
  const [small, large] = one.size <= other.size ? [one, other] : [other, one];
  if (large.size === 0 || small.size / large.size < least) return 0;
  // So many words of the smaller one may be missing in the larger one.
  let missing = small.size - (least / (1 + least)) * (small.size + large.size);
  let shared = 0;
  for (const word of small) {
    if (large.has(word)) shared += 1;
    else {
      missing -= 1;
      if (least > 0 && missing < -1e-9) return 0;
    }
  }
  return shared / (small.size + large.size - shared);
}

export interface ClusterRules {
  /** The share of common words with the first member. */
  readonly least: number;
  readonly rowsMin: number;
  readonly rowsMax: number;
  readonly clustersMax: number;
}

/** Groups of memories of one audience that are like the first of them, in the order in which they are given; each is in one. */
export function clustersOf(
  rows: readonly Compared[],
  { least, rowsMin, rowsMax, clustersMax }: ClusterRules,
): string[][] {
  const clusters: string[][] = [];
  for (const group of byAudience(rows)) {
    const taken = new Set<string>();
    for (const [at, first] of group.entries()) {
      if (clusters.length >= clustersMax) return clusters;
      if (taken.has(first.id)) continue;
      const members = [first.id];
      for (const other of group.slice(at + 1)) {
        if (members.length >= rowsMax) break;
        if (!taken.has(other.id) && commonShare(first.words, other.words, least) >= least)
          members.push(other.id);
      }
      if (members.length < rowsMin) continue;
      clusters.push(members);
      for (const id of members) taken.add(id);
    }
  }
  return clusters;
}

function byAudience(rows: readonly Compared[]): Compared[][] {
  const groups = new Map<string, Compared[]>();
  for (const row of rows) {
    const group = groups.get(row.audience);
    if (group === undefined) groups.set(row.audience, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** The memory of the same audience that has most words in common; null where none has enough. */
export function adjacentTo(row: Compared, rows: readonly Compared[], least: number): string | null {
  let best: { readonly id: string; readonly share: number } | null = null;
  for (const other of rows) {
    if (other.id === row.id || other.audience !== row.audience) continue;
    const share = commonShare(row.words, other.words, least);
    if (share >= least && share > (best?.share ?? 0)) best = { id: other.id, share };
  }
  return best?.id ?? null;
}
