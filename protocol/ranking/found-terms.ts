import { analyseQuery } from './query.js';
import { wordUnitsAt } from './tokens.js';

/** Scripts that put no spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u;
/** Places of one term that are noted in one text. */
const PLACES_MAX = 64;

export const isUnspaced = (text: string): boolean => UNSPACED.test(text);

/** A word in pieces that are found inside other words: pairs of characters where a script has no spaces. */
export function pairsOf(word: string): string[] {
  const letters = [...word];
  if (letters.length < 3 || !isUnspaced(word)) return [word];
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** A term of a query at a place of a text. */
export interface FoundTerm {
  readonly term: number;
  readonly at: number;
}

/** Finds the telling words of a query in texts, in any of their forms; stop-words are no terms. */
export class TermFinder {
  private readonly roots: readonly string[];

  constructor(query: string) {
    const { terms, onlyStopWords } = analyseQuery(query);
    const roots = onlyStopWords ? [] : terms.flatMap(({ word, stem }) => pairsOf(rootOf(word, stem)));
    this.roots = [...new Set(roots)];
  }

  /** The number of terms. */
  get size(): number {
    return this.roots.length;
  }

  /** Where the terms are, in the order of the text. */
  places(text: string): FoundTerm[] {
    const folded = text.toLowerCase();
    const found: FoundTerm[] = [];
    for (const [term, root] of this.roots.entries()) {
      let places = 0;
      for (
        let at = folded.indexOf(root);
        at !== -1 && places < PLACES_MAX;
        at = folded.indexOf(root, at + 1)
      ) {
        if (!isUnspaced(root) && at > 0 && wordUnitsAt(folded, at - 1, false) > 0) continue;
        found.push({ term, at });
        places += 1;
      }
    }
    return found.sort((left, right) => left.at - right.at);
  }
}

/** What the forms of a word have in common at their beginning. */
function rootOf(word: string, stem: string): string {
  let length = 0;
  while (length < stem.length && stem[length] === word[length]) length += 1;
  return length < 2 ? word : word.slice(0, length);
}
