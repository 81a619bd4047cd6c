import { analyseQuery } from './query.js';
import { wordUnitsAt } from './tokens.js';
import { foldTerm } from './words.js';

/** Scripts that put no spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u;
/** Places of one term that are noted in one text. */
const PLACES_MAX = 512;
/** Letters with accents or of several letters, and marks: `foldTerm` changes them. */
const ACCENTED =
  /[\u00c0-\u024f]|[\u0300-\u036f]|[\u0384-\u0390\u03aa-\u03b0\u03c2\u03ca-\u03ce]|[\u0400-\u0407\u040c-\u040e\u0450-\u0457\u045c-\u045e]|[\u0591-\u05c7]|[\u0610-\u061a\u064b-\u065f\u0670]|\u0640|[\u1e00-\u1fff]/g;

const isUnspaced = (text: string): boolean => UNSPACED.test(text);

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
  /** For each term its weight as a share of a word's. */
  readonly shares: readonly number[];
  private readonly roots: readonly { readonly text: string; readonly inside: boolean }[];

  constructor(query: string) {
    const { terms, onlyStopWords } = analyseQuery(query);
    const shares = new Map<string, number>();
    for (const { word, stem, share } of onlyStopWords ? [] : terms) {
      for (const root of pairsOf(rootOf(word, stem))) {
        shares.set(root, Math.max(share, shares.get(root) ?? 0));
      }
    }
    this.roots = [...shares.keys()].map((text) => ({ text, inside: isUnspaced(text) }));
    this.shares = [...shares.values()];
  }

  /** The number of terms. */
  get size(): number {
    return this.roots.length;
  }

  /** Where the terms are, in the order of the text. */
  places(text: string): FoundTerm[] {
    const folded = new FoldedText(text);
    const found: FoundTerm[] = [];
    for (const [term, root] of this.roots.entries()) {
      let places = 0;
      for (
        let at = folded.text.indexOf(root.text);
        at !== -1 && places < PLACES_MAX;
        at = folded.text.indexOf(root.text, at + 1)
      ) {
        if (!root.inside && at > 0 && wordUnitsAt(folded.text, at - 1, false) > 0) continue;
        found.push({ term, at });
        places += 1;
      }
    }
    return folded.unfolded(found.sort((left, right) => left.at - right.at));
  }
}

/** What the forms of a word have in common at their beginning. */
function rootOf(word: string, stem: string): string {
  let length = 0;
  while (length < stem.length && stem[length] === word[length]) length += 1;
  return length < 2 ? word : word.slice(0, length);
}

/** A text without case and accents, as the words of a query are. */
class FoldedText {
  readonly text: string;
  /** Where the folded text is longer or shorter from here on than the text was, and by how much. */
  private readonly shifts: { readonly at: number; readonly by: number }[] = [];

  constructor(text: string) {
    let by = 0;
    const plain = text.replace(ACCENTED, (letter, at: number) => {
      const folded = foldedLetter(letter);
      if (folded.length !== 1) {
        by += folded.length - 1;
        this.shifts.push({ at: at + 1 + by, by });
      }
      return folded;
    });
    this.text = plain.toLowerCase();
  }

  /** Places in the folded text, in order, as places in the text itself. */
  unfolded(found: readonly FoundTerm[]): FoundTerm[] {
    let next = 0;
    let by = 0;
    return this.shifts.length === 0
      ? [...found]
      : found.map(({ term, at }) => {
          for (; next < this.shifts.length && this.shifts[next]!.at <= at; next += 1)
            by = this.shifts[next]!.by;
          return { term, at: at - by };
        });
  }
}

const FOLDED_LETTERS = new Map<string, string>();

function foldedLetter(letter: string): string {
  let folded = FOLDED_LETTERS.get(letter);
  if (folded === undefined) {
    folded = foldTerm(letter);
    FOLDED_LETTERS.set(letter, folded);
  }
  return folded;
}
